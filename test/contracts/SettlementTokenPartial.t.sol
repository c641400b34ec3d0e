// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ISettlement} from "../../contracts/interfaces/ISettlement.sol";
import {RefusingReceiver, ReentrantReceiver} from "../../contracts/mocks/HostileReceivers.sol";
import {FeeToken, LyingToken, OpenToken, ReentrantToken} from "../../contracts/mocks/HostileTokens.sol";
import {UsdcShape, UsdcShapeProxy} from "../../contracts/mocks/UsdcShape.sol";
import {SettlementFixture} from "./support/SettlementFixture.sol";

// settleTokenBatchPartial
// ├── when every item can be paid: pays all
// ├── when an item cannot: pays the others, logs the reason, leaves its bit and its part of the allowance
// │   ├── because the order is wrong, repeated or settled before
// │   ├── because the token has frozen the payee, or the funds or the allowance are short
// │   └── because the token lies, takes a fee, calls back, or is none
// ├── when the token is paused: pays nobody
// ├── when the token is zero: refuses, and never pays the coin that waits for another batch
// ├── when the lists are wrong: refuses
// └── when gas runs short: refuses as a whole, and never lets an item fail for it
contract SettlementTokenPartialTest is SettlementFixture {
    bytes32 private constant OTHER = keccak256("another order");
    address private constant OWNER = address(0x4000000000000000000000000000000000000004);

    UsdcShape private usdc;

    function setUp() public override {
        super.setUp();
        usdc = UsdcShape(address(new UsdcShapeProxy(address(new UsdcShape()), address(0xad))));
        usdc.initialize(OWNER);
        vm.prank(OWNER);
        usdc.configureMinter(address(this), type(uint128).max);
        usdc.mint(PAYER, 1_000_000);
        vm.prank(PAYER);
        usdc.approve(address(settlement), 1_000_000);
    }

    function testFuzz_paysWhatTheTokenLetsPass(uint256 start, uint8 count, uint256 refusals) public {
        start = between(start, 1, type(uint256).max - 300);
        uint256 size = between(count, 1, 40);
        (bytes32[] memory references, address[] memory payees, uint256[] memory amounts, uint256 total) = batchOf(
            start,
            size
        );
        (uint256 failed, uint256 failing) = freeze(payees, amounts, refusals);
        vm.recordLogs();
        vm.prank(PAYER);
        uint256 paid = settlement.settleTokenBatchPartial(references, address(usdc), payees, amounts);

        eq(countLogs(ISettlement.SettlementFailed.selector), failed, "an event for each that was not");
        eq(paid, total - failing, "says what was paid");
        eq(usdc.balanceOf(PAYER), 1_000_000 - paid, "the rest never left");
        eq(usdc.allowance(PAYER, address(settlement)), 1_000_000 - paid, "nor was it taken of the allowance");
        eq(usdc.balanceOf(address(settlement)), 0, "nothing stays");
        for (uint256 i = 0; i < size; ++i) {
            bool isPaid = refusals & (1 << i) == 0;
            eq(usdc.balanceOf(payees[i]), isPaid ? amounts[i] : 0, "paid or not");
            vm.assertTrue(settlement.isSettled(PAYER, references[i]) == isPaid, "settled or not");
        }
    }

    function test_logsWhatItPays() public {
        expectSettled(REFERENCE, PAYER, PAYEE, address(usdc), 3);
        expectSettled(OTHER, PAYER, STRANGER, address(usdc), 4);
        payTwo(address(usdc), PAYEE, STRANGER);
    }

    function test_saysWhyAnItemFailed() public {
        fails(0, PAYEE, 5, ISettlement.ZeroReference.selector);
        fails(OTHER, PAYEE, 0, ISettlement.ZeroAmount.selector);
        fails(OTHER, address(0), 5, ISettlement.InvalidPayee.selector);
        fails(OTHER, address(settlement), 5, ISettlement.InvalidPayee.selector);
        fails(OTHER, PAYER, 5, ISettlement.WrongDelivery.selector);
        fails(OTHER, PAYEE, 2_000_000, ISettlement.TransferRefused.selector);
        vm.prank(OWNER);
        usdc.setBlocked(STRANGER, true);
        fails(OTHER, STRANGER, 5, ISettlement.TransferRefused.selector);
    }

    function test_doesNotPayAReferenceTwice() public {
        vm.prank(PAYER);
        settlement.settleToken(REFERENCE, address(usdc), PAYEE, 3);
        expectFailure(REFERENCE, PAYEE, 3, ISettlement.AlreadySettled.selector);
        eq(payTwo(address(usdc), PAYEE, PAYEE), 4, "the other one");
        expectFailure(REFERENCE, PAYEE, 3, ISettlement.AlreadySettled.selector);
        eq(payTwo(address(usdc), PAYEE, PAYEE), 0, "none again");
        eq(usdc.balanceOf(PAYEE), 7, "each once");
    }

    function test_takesNothingOfAnybodyElse() public {
        vm.prank(STRANGER);
        uint256 paid = settlement.settleTokenBatchPartial(
            listOf(REFERENCE),
            address(usdc),
            listOf(STRANGER),
            listOf(5)
        );
        eq(paid, 0, "the caller has allowed nothing");
        eq(usdc.balanceOf(PAYER), 1_000_000, "and nobody pays for another");
    }

    function test_paysNobodyInATokenThatLies() public {
        LyingToken liar = new LyingToken();
        eq(payTwo(address(liar), PAYEE, STRANGER), 0, "lies");
        FeeToken taker = new FeeToken();
        taker.mint(PAYER, 1_000_000);
        vm.prank(PAYER);
        taker.approve(address(settlement), 1_000_000);
        vm.prank(PAYER);
        uint256 paid = settlement.settleTokenBatchPartial(
            listOf(REFERENCE),
            address(taker),
            listOf(PAYEE),
            listOf(500)
        );
        eq(paid, 0, "takes a fee");
        eq(payTwo(STRANGER, PAYEE, STRANGER), 0, "no token at all");
        no(settlement.isSettled(PAYER, REFERENCE), "none is settled");
    }

    function test_paysNobodyWhileTheTokenIsPaused() public {
        vm.prank(OWNER);
        usdc.setPaused(true);
        eq(payTwo(address(usdc), PAYEE, STRANGER), 0, "nobody");
        no(settlement.isSettled(PAYER, REFERENCE) || settlement.isSettled(PAYER, OTHER), "none is settled");
    }

    function test_paysTheSameReferenceFromWithinOnce() public {
        ReentrantToken reentrant = new ReentrantToken();
        reentrant.mint(PAYER, 10);
        vm.prank(PAYER);
        reentrant.approve(address(settlement), 10);
        bytes memory again = abi.encodeCall(
            ISettlement.settleTokenBatchPartial,
            (listOf(REFERENCE), address(reentrant), listOf(PAYEE), listOf(3))
        );
        reentrant.prepare(address(settlement), again);
        payTwo(address(reentrant), PAYEE, PAYEE);
        yes(reentrant.tried(), "it was tried");
        eq(reentrant.balanceOf(PAYEE), 7, "each once");
    }

    function test_refusesNoToken() public {
        vm.expectRevert(abi.encodeWithSelector(ISettlement.InvalidToken.selector, address(0)));
        payTwo(address(0), PAYEE, STRANGER);
    }

    function test_keepsAPayeeFromTheCoinThatWaitsForOthers() public {
        ReentrantReceiver thief = new ReentrantReceiver(settlement);
        bytes memory data = abi.encodeCall(
            ISettlement.settleTokenBatchPartial,
            (listOf(REFERENCE), address(0), listOf(STRANGER), listOf(8))
        );
        thief.prepare(data, 0);
        uint256 before = STRANGER.balance;
        vm.prank(PAYER);
        settlement.settleBatch{value: 101}(listOf(REFERENCE, OTHER), listOf(address(thief), PAYEE), listOf(1, 100));
        yes(thief.tried(), "it was tried");
        no(thief.succeeded(), "it failed");
        eq(STRANGER.balance, before, "nothing was taken");
        eq(PAYEE.balance, 100, "the second is paid");
    }

    function test_refusesWrongLists() public {
        vm.expectRevert(abi.encodeWithSelector(ISettlement.LengthMismatch.selector, 2, 1, 2));
        settlement.settleTokenBatchPartial(listOf(REFERENCE, OTHER), address(usdc), listOf(PAYEE), listOf(1, 1));
        vm.expectRevert(abi.encodeWithSelector(ISettlement.InvalidBatchSize.selector, 0, 1000));
        settlement.settleTokenBatchPartial(new bytes32[](0), address(usdc), new address[](0), new uint256[](0));
    }

    function test_refusesAnAddressWithUpperBits() public {
        bytes memory data = abi.encodeCall(
            ISettlement.settleTokenBatchPartial,
            (listOf(REFERENCE), address(usdc), listOf(PAYEE), listOf(1))
        );
        data[4 + 32 * 7 + 11] = 0x01;
        vm.prank(PAYER);
        (bool success, bytes memory answer) = address(settlement).call(data);
        no(success, "refused");
        eq(answer.length, 0, "as the ABI decoder does");
    }

    function testFuzz_neverLetsAnItemFailForWantOfGas(uint256 gas) public {
        gas = between(gas, 30_000, 900_000);
        bytes memory data = abi.encodeCall(
            ISettlement.settleTokenBatchPartial,
            (listOf(REFERENCE, OTHER), address(usdc), listOf(PAYEE, STRANGER), listOf(1, 1))
        );
        vm.prank(PAYER);
        (bool success, bytes memory answer) = address(settlement).call{gas: gas}(data);
        vm.assertTrue(success == settlement.isSettled(PAYER, OTHER), "settled if it went through");
        vm.assertTrue(success == settlement.isSettled(PAYER, REFERENCE), "and the other with it");
        if (success) eq(abi.decode(answer, (uint256)), 2, "all was paid");
        else if (answer.length != 0) vm.assertTrue(bytes4(answer) == ISettlement.InsufficientGas.selector, "says so");
    }

    /// @dev Freezes the payee wherever there is a bit; says how many those are and what they would have had.
    function freeze(
        address[] memory payees,
        uint256[] memory amounts,
        uint256 refusals
    ) private returns (uint256 failed, uint256 failing) {
        for (uint256 i = 0; i < payees.length; ++i) {
            if (refusals & (1 << i) == 0) continue;
            vm.prank(OWNER);
            usdc.setBlocked(payees[i], true);
            failing += amounts[i];
            ++failed;
        }
    }

    function payTwo(address token, address first, address second) private returns (uint256 paid) {
        vm.prank(PAYER);
        paid = settlement.settleTokenBatchPartial(listOf(REFERENCE, OTHER), token, listOf(first, second), listOf(3, 4));
    }

    /// @dev A wrong item before a right one, which is paid.
    function fails(bytes32 orderReference, address payee, uint256 amount, bytes4 reason) private {
        bytes32 right = keccak256(abi.encode("right", reason, payee));
        uint256 before = usdc.balanceOf(PAYER);
        expectFailure(orderReference, payee, amount, reason);
        vm.prank(PAYER);
        uint256 paid = settlement.settleTokenBatchPartial(
            listOf(orderReference, right),
            address(usdc),
            listOf(payee, PAYEE),
            listOf(amount, 1)
        );
        eq(paid, 1, "paid the other");
        eq(usdc.balanceOf(PAYER), before - 1, "and no more");
        yes(settlement.isSettled(PAYER, right), "it is settled");
        no(settlement.isSettled(PAYER, orderReference), "the wrong one is not");
    }

    function expectFailure(bytes32 orderReference, address payee, uint256 amount, bytes4 reason) private {
        vm.expectEmit(true, true, true, true, address(settlement));
        emit ISettlement.SettlementFailed(orderReference, PAYER, payee, amount, reason);
    }
}
