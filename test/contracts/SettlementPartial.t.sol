// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ISettlement} from "../../contracts/interfaces/ISettlement.sol";
import {
    GasBurningReceiver,
    GasMeteringReceiver,
    ReentrantReceiver,
    RefusingPayer,
    RefusingReceiver,
    ReturnBombReceiver
} from "../../contracts/mocks/HostileReceivers.sol";
import {SettlementFixture} from "./support/SettlementFixture.sol";
import {Vm} from "./support/Test.sol";

// settleBatchPartial
// ├── when every item can be paid: pays all and returns nothing
// ├── when an item cannot: pays the others, logs the reason, leaves its bit, and returns its amount
// │   ├── because the order is wrong, repeated or settled before
// │   └── because the payee refuses, answers at length, or burns its gas
// ├── when the payer does not take back what is left: refuses
// ├── when the value is not the sum, overflow included: refuses
// ├── when the lists are wrong: refuses
// ├── when gas runs short: refuses as a whole, and never lets an item fail for it
// └── when a payee calls back
//     ├── it can pay its own orders with its own money
//     └── it can spend none of what waits for other items
// payOneItemOfBatch: refuses anybody but the contract
contract SettlementPartialTest is SettlementFixture {
    bytes32 private constant OTHER = keccak256("another order");

    function testFuzz_paysWhatCanBePaidAndReturnsTheRest(uint256 start, uint8 count, uint256 refusals) public {
        start = between(start, 1, type(uint256).max - 300);
        uint256 size = between(count, 1, 40);
        (bytes32[] memory references, address[] memory payees, uint256[] memory amounts, uint256 total) = batchOf(
            start,
            size
        );
        (uint256 failed, uint256 failing) = spoil(payees, amounts, refusals);
        vm.recordLogs();
        vm.prank(PAYER);
        uint256 paid = settlement.settleBatchPartial{value: total}(references, payees, amounts);

        // Events that were taken back are recorded too, so those of paid items are counted on receipts, in TypeScript.
        eq(countLogs(ISettlement.SettlementFailed.selector), failed, "an event for each that was not");
        eq(paid, total - failing, "says what was paid");
        eq(PAYER.balance, type(uint128).max - paid, "the rest came back");
        eq(address(settlement).balance, 0, "nothing stays");
        for (uint256 i = 0; i < size; ++i) {
            bool isPaid = refusals & (1 << i) == 0;
            eq(payees[i].balance, isPaid ? amounts[i] : 0, "paid or not");
            vm.assertTrue(settlement.isSettled(PAYER, references[i]) == isPaid, "settled or not");
        }
    }

    function test_saysWhyAnItemFailed() public {
        fails(0, PAYEE, 5, ISettlement.ZeroReference.selector);
        fails(OTHER, PAYEE, 0, ISettlement.ZeroAmount.selector);
        fails(OTHER, address(0), 5, ISettlement.InvalidPayee.selector);
        fails(OTHER, address(settlement), 5, ISettlement.InvalidPayee.selector);
        fails(OTHER, address(new RefusingReceiver()), 5, ISettlement.PaymentRefused.selector);
    }

    function test_doesNotPayAReferenceTwice() public {
        vm.prank(PAYER);
        settlement.settle{value: 1}(OTHER, STRANGER);
        expectFailure(OTHER, PAYEE, 5, ISettlement.AlreadySettled.selector);
        vm.prank(PAYER);
        eq(settlement.settleBatchPartial{value: 5}(listOf(OTHER), listOf(PAYEE), listOf(5)), 0, "nothing paid");
        yes(settlement.isSettled(PAYER, OTHER), "as settled as before");

        expectFailure(REFERENCE, PAYEE, 4, ISettlement.AlreadySettled.selector);
        vm.prank(PAYER);
        uint256 paid = settlement.settleBatchPartial{value: 7}(
            listOf(REFERENCE, REFERENCE),
            listOf(PAYEE, PAYEE),
            listOf(3, 4)
        );
        eq(paid, 3, "the first of the two");
        eq(PAYEE.balance, 3, "once");
    }

    function test_boundsWhatABadPayeeCosts() public {
        address burner = address(new GasBurningReceiver());
        address bomb = address(new ReturnBombReceiver());
        ReturnBombReceiver(payable(bomb)).setReverting(true);
        uint256 good = costOf(PAYEE, "good");
        yes(costOf(burner, "burner") < good + 110_000, "a burner");
        yes(costOf(bomb, "bomb") < good + 110_000, "a bomb");
    }

    function test_givesAPayeeAHundredThousandGas() public {
        address meter = address(new GasMeteringReceiver());
        vm.recordLogs();
        vm.prank(PAYER);
        settlement.settleBatchPartial{value: 1}(listOf(OTHER), listOf(meter), listOf(1));
        Vm.Log[] memory logs = vm.getRecordedLogs();
        for (uint256 i = 0; i < logs.length; ++i) {
            if (logs[i].emitter != meter) continue;
            uint256 given = abi.decode(logs[i].data, (uint256));
            yes(given > 99_000 && given <= 100_000, "all of it, with the stipend");
            return;
        }
        yes(false, "the payee was called");
    }

    function testFuzz_neverLetsAnItemFailForWantOfGas(uint256 gas) public {
        gas = between(gas, 30_000, 500_000);
        address meter = address(new GasMeteringReceiver());
        bytes memory data = abi.encodeCall(
            ISettlement.settleBatchPartial,
            (listOf(REFERENCE, OTHER), listOf(PAYEE, meter), listOf(1, 1))
        );
        vm.prank(PAYER);
        (bool success, bytes memory answer) = address(settlement).call{value: 2, gas: gas}(data);
        vm.assertTrue(success == settlement.isSettled(PAYER, OTHER), "settled if it went through");
        vm.assertTrue(success == settlement.isSettled(PAYER, REFERENCE), "and the other with it");
        if (success) eq(abi.decode(answer, (uint256)), 2, "all was paid");
        else if (answer.length != 0) vm.assertTrue(bytes4(answer) == ISettlement.InsufficientGas.selector, "says so");
    }

    function test_saysHowMuchGasItNeeds() public {
        bytes memory data = abi.encodeCall(
            ISettlement.settleBatchPartial,
            (listOf(REFERENCE), listOf(PAYEE), listOf(1))
        );
        vm.prank(PAYER);
        (bool success, bytes memory answer) = address(settlement).call{value: 1, gas: 250_000}(data);
        no(success, "too little");
        vm.assertTrue(bytes4(answer) == ISettlement.InsufficientGas.selector, "the error");
        uint256 required;
        assembly {
            required := mload(add(answer, 0x44))
        }
        eq(required, 300_000, "the reserve");
        vm.prank(PAYER);
        (success, ) = address(settlement).call{value: 1, gas: 350_000}(data);
        yes(success, "enough");
    }

    function test_refusesWhenThePayerTakesNothingBack() public {
        RefusingPayer payer = new RefusingPayer();
        address refusing = address(new RefusingReceiver());
        bytes4 selector = ISettlement.ReturnRefused.selector;
        vm.expectRevert(abi.encodeWithSelector(selector, address(payer), 4));
        vm.prank(PAYER);
        payer.pay{value: 7}(settlement, listOf(REFERENCE, OTHER), listOf(PAYEE, refusing), listOf(3, 4));
        no(settlement.isSettled(address(payer), REFERENCE), "none is settled");

        vm.prank(PAYER);
        payer.pay{value: 3}(settlement, listOf(REFERENCE), listOf(PAYEE), listOf(3));
        eq(PAYEE.balance, 3, "nothing to return, nothing to refuse");
    }

    function test_refusesTheWrongValue() public {
        vm.expectRevert(abi.encodeWithSelector(ISettlement.WrongValue.selector, 6, 7));
        vm.prank(PAYER);
        settlement.settleBatchPartial{value: 6}(listOf(REFERENCE, OTHER), listOf(PAYEE, PAYEE), listOf(3, 4));
        vm.expectRevert(abi.encodeWithSelector(ISettlement.WrongValue.selector, 8, 7));
        vm.prank(PAYER);
        settlement.settleBatchPartial{value: 8}(listOf(REFERENCE, OTHER), listOf(PAYEE, PAYEE), listOf(3, 4));
    }

    function test_refusesWrongLists() public {
        vm.expectRevert(abi.encodeWithSelector(ISettlement.LengthMismatch.selector, 2, 1, 2));
        settlement.settleBatchPartial(listOf(REFERENCE, OTHER), listOf(PAYEE), listOf(1, 1));
        vm.expectRevert(abi.encodeWithSelector(ISettlement.InvalidBatchSize.selector, 0, 1000));
        settlement.settleBatchPartial(new bytes32[](0), new address[](0), new uint256[](0));
    }

    function test_refusesAnAddressWithUpperBits() public {
        bytes memory data = abi.encodeCall(
            ISettlement.settleBatchPartial,
            (listOf(REFERENCE), listOf(PAYEE), listOf(1))
        );
        data[4 + 32 * 6 + 11] = 0x01;
        vm.prank(PAYER);
        (bool success, bytes memory answer) = address(settlement).call{value: 1}(data);
        no(success, "refused");
        eq(answer.length, 0, "as the ABI decoder does");
    }

    function test_returnsToAPayerWhoseOverflowingSumMatches() public {
        // 2^256 - 6 and 8 add up to 2, and 8 cannot be paid out of 2.
        vm.prank(PAYER);
        uint256 paid = settlement.settleBatchPartial{value: 2}(
            listOf(REFERENCE, OTHER),
            listOf(PAYEE, PAYEE),
            listOf(type(uint256).max - 5, 8)
        );
        eq(paid, 0, "nothing was paid");
        eq(PAYER.balance, type(uint128).max, "all came back");
    }

    function test_keepsAPayeeFromSpendingWhatWaitsForOthers() public {
        ReentrantReceiver thief = new ReentrantReceiver(settlement);
        vm.deal(address(thief), 2);
        bytes memory data = abi.encodeCall(
            ISettlement.settleBatchPartial,
            (listOf(REFERENCE, OTHER), listOf(STRANGER, STRANGER), listOf(type(uint256).max - 5, 8))
        );
        robs(thief, data, 2, ISettlement.settleBatch.selector);
        data = abi.encodeCall(ISettlement.settleBatchPartial, (listOf(REFERENCE), listOf(STRANGER), listOf(8)));
        robs(thief, data, 0, ISettlement.settleBatch.selector);
        data = abi.encodeCall(ISettlement.settleBatch, (listOf(REFERENCE), listOf(STRANGER), listOf(8)));
        robs(thief, data, 0, ISettlement.settleBatch.selector);
        robs(thief, data, 0, ISettlement.settleBatchPartial.selector);
        data = abi.encodeCall(ISettlement.payOneItemOfBatch, ());
        robs(thief, data, 0, ISettlement.settleBatch.selector);
        robs(thief, data, 0, ISettlement.settleBatchPartial.selector);
    }

    function test_letsAPayeePayItsOwnOrders() public {
        ReentrantReceiver payee = new ReentrantReceiver(settlement);
        payee.prepare(abi.encodeCall(ISettlement.settle, (REFERENCE, PAYER)), 3);
        uint256 before = PAYER.balance;
        vm.prank(PAYER);
        settlement.settleBatchPartial{value: 5}(listOf(OTHER), listOf(address(payee)), listOf(5));
        yes(payee.succeeded(), "a refund, say");
        eq(PAYER.balance, before - 5 + 3, "it arrived");
    }

    function test_refusesAnItemFromAnybodyElse() public {
        vm.expectRevert(abi.encodeWithSelector(ISettlement.OnlySelf.selector, STRANGER));
        vm.prank(STRANGER);
        settlement.payOneItemOfBatch();
    }

    /// @dev Puts a payee that refuses wherever there is a bit; says how many those are and what they would have had.
    function spoil(
        address[] memory payees,
        uint256[] memory amounts,
        uint256 refusals
    ) private returns (uint256 failed, uint256 failing) {
        address refusing = address(new RefusingReceiver());
        for (uint256 i = 0; i < payees.length; ++i) {
            if (refusals & (1 << i) == 0) continue;
            payees[i] = refusing;
            failing += amounts[i];
            ++failed;
        }
    }

    /// @dev A wrong item between two right ones: they are paid, it is logged, and its value returns.
    function fails(bytes32 orderReference, address payee, uint256 amount, bytes4 reason) private {
        bytes32 left = keccak256(abi.encode("left", reason, payee));
        bytes32 right = keccak256(abi.encode("right", reason, payee));
        bytes32[] memory references = new bytes32[](3);
        (references[0], references[1], references[2]) = (left, orderReference, right);
        address[] memory payees = new address[](3);
        (payees[0], payees[1], payees[2]) = (PAYEE, payee, PAYEE);
        uint256[] memory amounts = new uint256[](3);
        (amounts[0], amounts[1], amounts[2]) = (1, amount, 1);
        uint256 before = PAYER.balance;

        expectFailure(orderReference, payee, amount, reason);
        vm.prank(PAYER);
        eq(settlement.settleBatchPartial{value: 2 + amount}(references, payees, amounts), 2, "paid the two");
        eq(PAYER.balance, before - 2, "the rest came back");
        yes(settlement.isSettled(PAYER, left) && settlement.isSettled(PAYER, right), "the two are settled");
        no(settlement.isSettled(PAYER, orderReference), "it is not");
    }

    /// @dev Pays a thief first and somebody else second; the thief calls back while the second's money waits.
    function robs(ReentrantReceiver thief, bytes memory data, uint256 value, bytes4 outer) private {
        thief.prepare(data, value);
        uint256 before = STRANGER.balance;
        uint256 held = address(thief).balance;
        bytes32 first = keccak256(abi.encode(data, outer));
        bytes32 second = keccak256(abi.encode(first));
        vm.prank(PAYER);
        (bool success, ) = address(settlement).call{value: 101}(
            abi.encodeWithSelector(outer, listOf(first, second), listOf(address(thief), PAYEE), listOf(1, 100))
        );
        yes(success && thief.tried(), "it was tried");
        no(thief.succeeded(), "it failed");
        eq(STRANGER.balance, before, "nothing was taken");
        eq(address(thief).balance, held + 1, "but its own");
        yes(settlement.isSettled(PAYER, second), "the second is paid");
    }

    function costOf(address payee, string memory name) private returns (uint256) {
        vm.prank(PAYER);
        settlement.settle{value: 1}(bytes32(uint256(keccak256(bytes(name))) | 0xff), address(0xbeef));
        vm.deal(payee, 1);
        bytes32 orderReference = bytes32(uint256(keccak256(bytes(name))) & ~uint256(1));
        vm.prank(PAYER);
        uint256 gas = gasleft();
        settlement.settleBatchPartial{value: 1}(listOf(orderReference), listOf(payee), listOf(1));
        return gas - gasleft();
    }

    function expectFailure(bytes32 orderReference, address payee, uint256 amount, bytes4 reason) private {
        vm.expectEmit(true, true, true, true, address(settlement));
        emit ISettlement.SettlementFailed(orderReference, PAYER, payee, amount, reason);
    }
}
