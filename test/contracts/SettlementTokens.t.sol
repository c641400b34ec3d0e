// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ISettlement} from "../../contracts/interfaces/ISettlement.sol";
import {
    FalseReturnToken,
    FeeToken,
    LyingToken,
    NoReturnToken,
    OpenToken,
    RebasingToken,
    ReentrantToken,
    ReturnBombToken
} from "../../contracts/mocks/HostileTokens.sol";
import {UsdcShape, UsdcShapeProxy} from "../../contracts/mocks/UsdcShape.sol";
import {SettlementFixture} from "./support/SettlementFixture.sol";

// settleToken
// ├── when the order is right: moves the amount from payer to payee, logs it, marks the reference
// ├── when the order is wrong or settled: refuses, whichever way it was settled
// ├── when the allowance or the balance is short: refuses
// ├── when payer and payee are one: refuses
// └── when the token
//     ├── returns nothing: pays
//     ├── returns false, lies, takes a fee, rebases up or down: refuses
//     ├── is paused, or has frozen the payer, the payee or the contract: refuses
//     ├── lowers an infinite allowance: pays
//     ├── answers at length: pays
//     ├── calls back: the same reference is refused
//     └── has no code, is zero, is a precompile or the contract itself: refuses
// settleTokenBatch
// ├── when all is right: pays all
// └── when one item is wrong or short: pays none
contract SettlementTokensTest is SettlementFixture {
    bytes32 private constant OTHER = keccak256("another order");
    address private constant OWNER = address(0x4000000000000000000000000000000000000004);

    OpenToken private token;

    function setUp() public override {
        super.setUp();
        token = new OpenToken();
        fund(token);
    }

    function testFuzz_paysATokenOnce(bytes32 orderReference, address payee, uint128 amount) public {
        vm.assume(orderReference != 0 && amount != 0 && payee != address(0));
        vm.assume(payee != address(settlement) && payee != PAYER);
        expectSettled(orderReference, PAYER, payee, address(token), amount);
        pay(address(token), orderReference, payee, amount);
        eq(token.balanceOf(payee), amount, "the payee has it");
        eq(token.balanceOf(address(settlement)), 0, "nothing stays");
        yes(settlement.isSettled(PAYER, orderReference), "settled");

        refuses(alreadySettled(orderReference), address(token), orderReference, payee, amount);
    }

    function test_refusesAReferenceThatWasSettledInCoin() public {
        vm.prank(PAYER);
        settlement.settle{value: 1}(REFERENCE, PAYEE);
        refuses(alreadySettled(REFERENCE), address(token), REFERENCE, PAYEE, 5);
    }

    function test_refusesAWrongOrder() public {
        bytes4 invalidPayee = ISettlement.InvalidPayee.selector;
        refuses(abi.encodeWithSelector(ISettlement.ZeroReference.selector), address(token), 0, PAYEE, 1);
        bytes memory reason = abi.encodeWithSelector(ISettlement.ZeroAmount.selector, REFERENCE);
        refuses(reason, address(token), REFERENCE, PAYEE, 0);
        reason = abi.encodeWithSelector(invalidPayee, REFERENCE, address(0));
        refuses(reason, address(token), REFERENCE, address(0), 1);
        reason = abi.encodeWithSelector(invalidPayee, REFERENCE, settlement);
        refuses(reason, address(token), REFERENCE, address(settlement), 1);
    }

    function test_passesOnWhatTheTokenSays() public {
        bytes memory said = abi.encodeWithSignature(
            "ERC20InsufficientAllowance(address,uint256,uint256)",
            address(settlement),
            uint256(0),
            uint256(5)
        );
        vm.prank(STRANGER);
        vm.expectRevert(transferRefused(PAYEE, 5, said));
        settlement.settleToken(REFERENCE, address(token), PAYEE, 5);
        no(settlement.isSettled(STRANGER, REFERENCE), "unsettled");
    }

    function test_refusesAPaymentToOneself() public {
        refuses(wrongDelivery(address(token), PAYER, 5, 0), address(token), REFERENCE, PAYER, 5);
    }

    function test_paysATokenThatReturnsNothing() public {
        NoReturnToken silent = new NoReturnToken();
        silent.mint(PAYER, 10);
        vm.prank(PAYER);
        silent.approve(address(settlement), 10);
        pay(address(silent), REFERENCE, PAYEE, 10);
        eq(silent.balanceOf(PAYEE), 10, "paid");
    }

    function test_refusesATokenThatReturnsFalse() public {
        FalseReturnToken liar = new FalseReturnToken();
        refuses(transferRefused(PAYEE, 5, abi.encode(false)), address(liar), REFERENCE, PAYEE, 5);
    }

    function test_refusesATokenThatLies() public {
        LyingToken liar = new LyingToken();
        refuses(wrongDelivery(address(liar), PAYEE, 5, 0), address(liar), REFERENCE, PAYEE, 5);
    }

    function test_refusesATokenThatTakesAFee() public {
        FeeToken taker = new FeeToken();
        fund(taker);
        refuses(wrongDelivery(address(taker), PAYEE, 500, 495), address(taker), REFERENCE, PAYEE, 500);
    }

    function test_refusesATokenThatRebases() public {
        RebasingToken rebasing = new RebasingToken();
        fund(rebasing);
        rebasing.setStep(1);
        refuses(wrongDelivery(address(rebasing), PAYEE, 5, 6), address(rebasing), REFERENCE, PAYEE, 5);
        rebasing.setStep(-1);
        refuses(wrongDelivery(address(rebasing), PAYEE, 5, 4), address(rebasing), REFERENCE, PAYEE, 5);

        rebasing.mint(PAYEE, 9);
        rebasing.setStep(-7);
        bytes memory reason = wrongDelivery(address(rebasing), PAYEE, 5, type(uint256).max - 1);
        refuses(reason, address(rebasing), REFERENCE, PAYEE, 5);
    }

    function test_paysATokenOfUsdcsShapeUnlessItIsStopped() public {
        UsdcShape usdc = usdcShape();
        pay(address(usdc), REFERENCE, PAYEE, 7);
        eq(usdc.balanceOf(PAYEE), 7, "paid");
        eq(usdc.allowance(PAYER, address(settlement)), type(uint256).max - 7, "even an infinite allowance shrinks");

        address[3] memory parties = [PAYER, PAYEE, address(settlement)];
        for (uint256 i = 0; i < 3; ++i) {
            vm.prank(OWNER);
            usdc.setBlocked(parties[i], true);
            bytes memory blocked = abi.encodeWithSignature("Error(string)", "Blacklistable: account is blacklisted");
            refuses(transferRefused(PAYEE, 7, blocked), address(usdc), OTHER, PAYEE, 7);
            vm.prank(OWNER);
            usdc.setBlocked(parties[i], false);
        }
        vm.prank(OWNER);
        usdc.setPaused(true);
        bytes memory paused = abi.encodeWithSignature("Error(string)", "Pausable: paused");
        refuses(transferRefused(PAYEE, 7, paused), address(usdc), OTHER, PAYEE, 7);
    }

    function test_doesNotPayForTheCopyOfALongAnswer() public {
        ReturnBombToken bomb = new ReturnBombToken();
        fund(bomb);
        uint256 gas = gasleft();
        pay(address(bomb), REFERENCE, PAYEE, 5);
        yes(gas - gasleft() < 2_600_000, "the megabyte was made once and copied never");
        eq(bomb.balanceOf(PAYEE), 5, "paid");
    }

    function test_refusesTheSameReferenceFromWithin() public {
        ReentrantToken reentrant = new ReentrantToken();
        fund(reentrant);
        bytes memory again = abi.encodeCall(ISettlement.settleToken, (REFERENCE, address(reentrant), PAYEE, 5));
        reentrant.prepare(address(settlement), again);
        reentrant.mint(address(reentrant), 5);

        pay(address(reentrant), REFERENCE, PAYEE, 5);
        yes(reentrant.tried(), "it was tried");
        eq(reentrant.balanceOf(PAYEE), 5, "once");
    }

    function test_refusesTheDeliveryOfANestedPaymentAsItsOwn() public {
        ReentrantToken reentrant = new ReentrantToken();
        fund(reentrant);
        reentrant.mint(address(reentrant), 5);
        vm.prank(address(reentrant));
        reentrant.approve(address(settlement), 5);
        bytes memory nested = abi.encodeCall(ISettlement.settleToken, (OTHER, address(reentrant), PAYEE, 5));
        reentrant.prepare(address(settlement), nested);
        // The nested payment arrives between the two looks at the balance, so that ten come instead of five.
        refuses(wrongDelivery(address(reentrant), PAYEE, 5, 10), address(reentrant), REFERENCE, PAYEE, 5);
    }

    function test_refusesWhatIsNoToken() public {
        address[4] memory impostors = [address(0), STRANGER, address(settlement), address(2)];
        for (uint256 i = 0; i < 3; ++i) {
            bytes memory reason = abi.encodeWithSelector(ISettlement.InvalidToken.selector, impostors[i]);
            refuses(reason, impostors[i], REFERENCE, PAYEE, 5);
        }
        // A precompile answers anything, but its answer does not grow, and it has no code.
        vm.prank(PAYER);
        vm.expectRevert();
        settlement.settleToken(REFERENCE, impostors[3], PAYEE, 5);
    }

    function testFuzz_paysABatchOfTokens(uint256 start, uint8 count) public {
        uint256 size = between(count, 1, 40);
        (bytes32[] memory references, address[] memory payees, uint256[] memory amounts, uint256 total) = batchOf(
            between(start, 1, type(uint256).max - 300),
            size
        );
        vm.recordLogs();
        vm.prank(PAYER);
        settlement.settleTokenBatch(references, address(token), payees, amounts);
        eq(countLogs(ISettlement.Settled.selector), size, "one event each");
        eq(token.balanceOf(PAYER), type(uint128).max - total, "the payer has paid");
        for (uint256 i = 0; i < size; ++i) {
            eq(token.balanceOf(payees[i]), amounts[i], "paid");
            yes(settlement.isSettled(PAYER, references[i]), "settled");
        }
    }

    function test_logsEveryTokenOfABatch() public {
        expectSettled(REFERENCE, PAYER, PAYEE, address(token), 3);
        expectSettled(OTHER, PAYER, STRANGER, address(token), 4);
        vm.prank(PAYER);
        settlement.settleTokenBatch(listOf(REFERENCE, OTHER), address(token), listOf(PAYEE, STRANGER), listOf(3, 4));
    }

    function test_paysNoneOfABatchWhenOneIsWrong() public {
        refusesBatch(
            abi.encodeWithSelector(ISettlement.ZeroAmount.selector, OTHER),
            listOf(REFERENCE, OTHER),
            address(token),
            listOf(1, 0)
        );
        refusesBatch(alreadySettled(OTHER), listOf(OTHER, OTHER), address(token), listOf(1, 1));
        LyingToken liar = new LyingToken();
        refusesBatch(wrongDelivery(address(liar), PAYEE, 1, 0), listOf(REFERENCE, OTHER), address(liar), listOf(1, 1));
        refusesBatch(
            abi.encodeWithSelector(ISettlement.LengthMismatch.selector, 2, 2, 1),
            listOf(REFERENCE, OTHER),
            address(token),
            listOf(1)
        );
        refusesBatch(
            abi.encodeWithSelector(ISettlement.InvalidToken.selector, address(0)),
            listOf(REFERENCE, OTHER),
            address(0),
            listOf(1, 1)
        );
        no(settlement.isSettled(PAYER, REFERENCE), "none is settled");
    }

    function test_namesTheItemOfABatchThatTheTokenRefuses() public {
        UsdcShape usdc = usdcShape();
        vm.prank(OWNER);
        usdc.setBlocked(STRANGER, true);
        bytes memory said = abi.encodeWithSignature("Error(string)", "Blacklistable: account is blacklisted");
        vm.expectRevert(transferRefused(STRANGER, 4, said));
        vm.prank(PAYER);
        settlement.settleTokenBatch(listOf(REFERENCE, OTHER), address(usdc), listOf(PAYEE, STRANGER), listOf(3, 4));
    }

    function usdcShape() private returns (UsdcShape usdc) {
        usdc = UsdcShape(address(new UsdcShapeProxy(address(new UsdcShape()), address(0xad))));
        usdc.initialize(OWNER);
        vm.prank(OWNER);
        usdc.configureMinter(address(this), 1000);
        usdc.mint(PAYER, 1000);
        vm.prank(PAYER);
        usdc.approve(address(settlement), type(uint256).max);
    }

    function fund(OpenToken some) private {
        some.mint(PAYER, type(uint128).max);
        vm.prank(PAYER);
        some.approve(address(settlement), type(uint256).max);
    }

    function pay(address some, bytes32 orderReference, address payee, uint256 amount) private {
        vm.prank(PAYER);
        settlement.settleToken(orderReference, some, payee, amount);
    }

    function refuses(bytes memory reason, address some, bytes32 orderReference, address payee, uint256 amount) private {
        vm.expectRevert(reason);
        pay(some, orderReference, payee, amount);
    }

    function refusesBatch(
        bytes memory reason,
        bytes32[] memory references,
        address some,
        uint256[] memory amounts
    ) private {
        vm.expectRevert(reason);
        vm.prank(PAYER);
        settlement.settleTokenBatch(references, some, listOf(PAYEE, PAYEE), amounts);
        eq(token.balanceOf(PAYEE), 0, "nobody is paid");
    }

    function alreadySettled(bytes32 orderReference) private pure returns (bytes memory) {
        return abi.encodeWithSelector(ISettlement.AlreadySettled.selector, PAYER, orderReference);
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
