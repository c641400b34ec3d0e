// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ISettlement} from "../../contracts/interfaces/ISettlement.sol";
import {
    FalseReturnToken,
    FeeToken,
    LyingToken,
    MumblingToken,
    NoReturnToken,
    OpenToken,
    RebasingToken,
    ReentrantToken,
    ReturnBombToken
} from "../../contracts/mocks/HostileTokens.sol";
import {SettlementFixture} from "./support/SettlementFixture.sol";

// settleTokenBatch, whose payments are made by a loop of their own
// ├── when references come in any order, from few words: each is settled once, or the batch is refused
// ├── when a payee has several items: pays each
// ├── when an item's order is wrong, the first or the last: refuses, and names it
// ├── when payer and payee are one: refuses
// └── when the token
//     ├── returns nothing, or answers at length: pays
//     ├── returns false, or a number that is not 1: refuses, and names the item
//     ├── lies, takes a fee, rebases up or down: refuses, and says what was delivered
//     ├── says nothing at all: refuses the token; refuses and says nothing: names the item
//     ├── answers the question for a balance too short, or fails at it: refuses the token
//     ├── calls back: a reference of the batch is refused, another is paid once
//     └── calls back and pays the payee in between: refuses
contract SettlementTokenBatchTest is SettlementFixture {
    bytes32 private constant OTHER = keccak256("another order");

    function testFuzz_settlesReferencesOfAnyOrderOnce(uint256 seed, uint8 count, bool inCoin) public {
        uint256 size = between(count, 1, 12);
        (bytes32[] memory references, address[] memory payees, uint256[] memory amounts, uint256 total) = batchOf(
            1,
            size
        );
        bool repeats;
        bool isZero;
        for (uint256 i = 0; i < size; ++i) {
            uint256 random = uint256(keccak256(abi.encode(seed, i)));
            references[i] = bytes32(((random % 3) << 8) | ((random >> 8) % 24));
            if (references[i] == 0) isZero = true;
            for (uint256 j = 0; j < i; ++j) if (references[i] == references[j]) repeats = true;
        }
        OpenToken token = new OpenToken();
        fund(token);
        bytes memory data =
            inCoin
                ? abi.encodeCall(ISettlement.settleBatch, (references, payees, amounts))
                : abi.encodeCall(ISettlement.settleTokenBatch, (references, address(token), payees, amounts));
        vm.prank(PAYER);
        (bool success, ) = address(settlement).call{value: inCoin ? total : 0}(data);
        vm.assertTrue(success == !(repeats || isZero), "unless one comes twice, or is zero");
        for (uint256 word = 0; word < 3; ++word) {
            for (uint256 bit = 0; bit < 24; ++bit) {
                bytes32 orderReference = bytes32((word << 8) | bit);
                bool isOfBatch;
                for (uint256 i = 0; i < size; ++i) if (references[i] == orderReference) isOfBatch = true;
                vm.assertTrue(settlement.isSettled(PAYER, orderReference) == (success && isOfBatch), "and no other");
            }
        }
    }

    function test_refusesAReferenceThatWasSettledBeforeInAnyPlace() public {
        OpenToken token = new OpenToken();
        fund(token);
        vm.prank(PAYER);
        settlement.settleToken(OTHER, address(token), PAYEE, 1);
        bytes memory reason = abi.encodeWithSelector(ISettlement.AlreadySettled.selector, PAYER, OTHER);
        refuses(reason, listOf(OTHER, REFERENCE), address(token), listOf(PAYEE, PAYEE), listOf(1, 1));
        refuses(reason, listOf(REFERENCE, OTHER), address(token), listOf(PAYEE, PAYEE), listOf(1, 1));
        bytes32 neighbour = OTHER ^ bytes32(uint256(1));
        refuses(reason, listOf(neighbour, OTHER), address(token), listOf(PAYEE, PAYEE), listOf(1, 1));
        no(settlement.isSettled(PAYER, neighbour), "nor is its neighbour");
    }

    function test_paysAPayeeSeveralItems() public {
        OpenToken token = new OpenToken();
        fund(token);
        pay(address(token), PAYEE, PAYEE);
        eq(token.balanceOf(PAYEE), 1500, "both");
    }

    function test_namesTheItemWhoseOrderIsWrong() public {
        OpenToken token = new OpenToken();
        fund(token);
        bytes memory reason = abi.encodeWithSelector(ISettlement.ZeroReference.selector);
        refuses(reason, listOf(REFERENCE, bytes32(0)), address(token), listOf(PAYEE, PAYEE), listOf(1, 1));
        refuses(reason, listOf(bytes32(0), REFERENCE), address(token), listOf(PAYEE, PAYEE), listOf(1, 1));
        refuses(reason, listOf(bytes32(0), bytes32(uint256(1))), address(token), listOf(PAYEE, PAYEE), listOf(1, 1));
        reason = abi.encodeWithSelector(ISettlement.ZeroAmount.selector, REFERENCE);
        refuses(reason, listOf(REFERENCE, OTHER), address(token), listOf(PAYEE, PAYEE), listOf(0, 1));
        address[2] memory wrong = [address(0), address(settlement)];
        for (uint256 i = 0; i < 2; ++i) {
            reason = abi.encodeWithSelector(ISettlement.InvalidPayee.selector, OTHER, wrong[i]);
            refuses(reason, listOf(REFERENCE, OTHER), address(token), listOf(PAYEE, wrong[i]), listOf(1, 1));
        }
    }

    function testFuzz_refusesAnAddressWithUpperBits(uint96 upper) public {
        vm.assume(upper != 0);
        OpenToken token = new OpenToken();
        fund(token);
        address[2] memory payees = [PAYEE, address(0)];
        for (uint256 i = 0; i < 2; ++i) {
            bytes memory data = abi.encodeCall(
                ISettlement.settleTokenBatch,
                (listOf(REFERENCE), address(token), listOf(payees[i]), listOf(1))
            );
            uint256 word = (uint256(upper) << 160) | uint160(payees[i]);
            // Behind the selector: four words of arguments, a list of one reference, and the length of the payees.
            assembly ("memory-safe") {
                mstore(add(add(data, 0x24), mul(7, 0x20)), word)
            }
            vm.prank(PAYER);
            (bool success, bytes memory answer) = address(settlement).call(data);
            no(success, "refused");
            eq(answer.length, 0, "as the ABI decoder does");
        }
    }

    function test_refusesAPaymentToOneself() public {
        OpenToken token = new OpenToken();
        fund(token);
        refusesToPay(wrongDelivery(address(token), PAYER, 1000, 0), address(token), PAYEE, PAYER);
    }

    function test_paysATokenThatReturnsNothing() public {
        NoReturnToken silent = new NoReturnToken();
        silent.mint(PAYER, 1500);
        vm.prank(PAYER);
        silent.approve(address(settlement), 1500);
        pay(address(silent), PAYEE, STRANGER);
        eq(silent.balanceOf(PAYEE), 500, "the first");
        eq(silent.balanceOf(STRANGER), 1000, "the second");
    }

    function test_doesNotPayForTheCopyOfALongAnswer() public {
        ReturnBombToken bomb = new ReturnBombToken();
        fund(bomb);
        uint256 gas = gasleft();
        pay(address(bomb), PAYEE, STRANGER);
        yes(gas - gasleft() < 5_200_000, "two megabytes were made and copied never");
    }

    function testFuzz_paysOnlyIfTheTokenAnswersOne(uint256 answer) public {
        if (answer < 2 ** 255) answer %= 4;
        MumblingToken token = new MumblingToken();
        fund(token);
        token.setAnswer(abi.encode(answer));
        bytes memory reason = transferRefused(PAYEE, 500, abi.encode(answer));
        if (answer != 1) {
            refusesToPay(reason, address(token), PAYEE, STRANGER);
            vm.expectRevert(reason);
        }
        vm.prank(PAYER);
        settlement.settleToken(keccak256("a third order"), address(token), PAYEE, 500);
        if (answer != 1) return;
        pay(address(token), PAYEE, STRANGER);
        eq(token.balanceOf(STRANGER), 1000, "paid");
    }

    function test_namesTheItemThatTheTokenRefusesWithoutAWord() public {
        NoReturnToken silent = new NoReturnToken();
        silent.mint(PAYER, 1500);
        refusesToPay(
            transferRefused(PAYEE, 500, abi.encodeWithSelector(NoReturnToken.Insufficient.selector)),
            address(silent),
            PAYEE,
            STRANGER
        );
        FalseReturnToken denying = new FalseReturnToken();
        refusesToPay(transferRefused(PAYEE, 500, abi.encode(false)), address(denying), PAYEE, STRANGER);
        MumblingToken mute = new MumblingToken();
        refusesToPay(transferRefused(PAYEE, 500, insufficient(500)), address(mute), PAYEE, STRANGER);
        mute.setRefuses(true);
        refusesToPay(transferRefused(PAYEE, 500, ""), address(mute), PAYEE, STRANGER);
    }

    function test_refusesATokenThatDeliversSomethingElse() public {
        LyingToken liar = new LyingToken();
        refusesToPay(wrongDelivery(address(liar), PAYEE, 500, 0), address(liar), PAYEE, STRANGER);
        FeeToken taker = new FeeToken();
        fund(taker);
        refusesToPay(wrongDelivery(address(taker), PAYEE, 500, 495), address(taker), PAYEE, STRANGER);
        RebasingToken rebasing = new RebasingToken();
        fund(rebasing);
        rebasing.setStep(1);
        refusesToPay(wrongDelivery(address(rebasing), PAYEE, 500, 501), address(rebasing), PAYEE, STRANGER);
        rebasing.setStep(-1);
        refusesToPay(wrongDelivery(address(rebasing), PAYEE, 500, 499), address(rebasing), PAYEE, STRANGER);
    }

    function test_refusesWhatIsNoToken() public {
        address[3] memory impostors = [address(0), STRANGER, address(settlement)];
        for (uint256 i = 0; i < 3; ++i) {
            bytes memory reason = abi.encodeWithSelector(ISettlement.InvalidToken.selector, impostors[i]);
            refusesToPay(reason, impostors[i], PAYEE, STRANGER);
        }
    }

    function test_refusesATokenThatDoesNotSayWhatABalanceIs() public {
        MumblingToken token = new MumblingToken();
        fund(token);
        bytes memory reason = abi.encodeWithSelector(ISettlement.InvalidToken.selector, address(token));
        token.setBalance(MumblingToken.Manner.Answers, hex"00");
        refusesToPay(reason, address(token), PAYEE, STRANGER);
        // It fails after the transfer, and what it says is what the payee should have.
        token.setBalance(MumblingToken.Manner.FailsOnceHeld, abi.encode(500));
        // Each of two, so that none fails for its amount.
        refuses(reason, listOf(REFERENCE, OTHER), address(token), listOf(PAYEE, STRANGER), listOf(500, 500));
    }

    function test_refusesAReferenceOfTheBatchFromWithin() public {
        ReentrantToken reentrant = new ReentrantToken();
        fund(reentrant);
        fundAs(reentrant, address(reentrant));
        // The token is the payer, so that it can try to settle its own references again.
        bytes memory again = abi.encodeCall(ISettlement.settleToken, (OTHER, address(reentrant), STRANGER, 7));
        reentrant.prepare(address(settlement), again);
        vm.prank(address(reentrant));
        settlement.settleTokenBatch(
            listOf(REFERENCE, OTHER),
            address(reentrant),
            listOf(PAYEE, PAYEE),
            listOf(500, 1000)
        );
        yes(reentrant.tried(), "it was tried");
        no(reentrant.succeeded(), "and refused");
        vm.assertEq(
            keccak256(reentrant.answer()),
            keccak256(abi.encodeWithSelector(ISettlement.AlreadySettled.selector, reentrant, OTHER)),
            "as settled"
        );
        eq(reentrant.balanceOf(PAYEE), 1500, "each once");
        eq(reentrant.balanceOf(STRANGER), 0, "and no more");
    }

    function test_refusesTheDeliveryOfANestedPaymentAsItsOwn() public {
        ReentrantToken reentrant = new ReentrantToken();
        fund(reentrant);
        fundAs(reentrant, address(reentrant));
        bytes memory nested = abi.encodeCall(ISettlement.settleToken, (OTHER, address(reentrant), PAYEE, 5));
        reentrant.prepare(address(settlement), nested);
        refusesToPay(wrongDelivery(address(reentrant), PAYEE, 500, 505), address(reentrant), PAYEE, STRANGER);
    }

    function fund(OpenToken some) private {
        fundAs(some, PAYER);
    }

    function fundAs(OpenToken some, address payer) private {
        some.mint(payer, 1_000_000);
        vm.prank(payer);
        some.approve(address(settlement), 1_000_000);
    }

    function pay(address some, address first, address second) private {
        vm.prank(PAYER);
        settlement.settleTokenBatch(listOf(REFERENCE, OTHER), some, listOf(first, second), listOf(500, 1000));
    }

    function refusesToPay(bytes memory reason, address some, address first, address second) private {
        refuses(reason, listOf(REFERENCE, OTHER), some, listOf(first, second), listOf(500, 1000));
    }

    function refuses(
        bytes memory reason,
        bytes32[] memory references,
        address some,
        address[] memory payees,
        uint256[] memory amounts
    ) private {
        vm.expectRevert(reason);
        vm.prank(PAYER);
        settlement.settleTokenBatch(references, some, payees, amounts);
        no(settlement.isSettled(PAYER, REFERENCE), "unsettled");
    }

    function insufficient(uint256 needed) private view returns (bytes memory) {
        return
            abi.encodeWithSignature(
                "ERC20InsufficientAllowance(address,uint256,uint256)",
                address(settlement),
                uint256(0),
                needed
            );
    }

    function transferRefused(address payee, uint256 amount, bytes memory said) private pure returns (bytes memory) {
        return abi.encodeWithSelector(ISettlement.TransferRefused.selector, payee, amount, said);
    }

    function wrongDelivery(
        address some,
        address account,
        uint256 expected,
        uint256 delivered
    ) private pure returns (bytes memory) {
        return abi.encodeWithSelector(ISettlement.WrongDelivery.selector, some, account, expected, delivered);
    }
}
