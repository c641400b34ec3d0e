// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC165} from "@openzeppelin/contracts/utils/introspection/IERC165.sol";

import {ISettlement} from "../../contracts/interfaces/ISettlement.sol";
import {RefusingReceiver, ReentrantReceiver, ReturnBombReceiver} from "../../contracts/mocks/HostileReceivers.sol";
import {SettlementFixture} from "./support/SettlementFixture.sol";

// settle
// ├── when the order is right
// │   ├── pays the payee the whole value, and keeps nothing
// │   ├── logs the payment before the payee is called
// │   └── marks the reference, and that one only, for this payer only
// ├── when the reference is settled: by the payer, refuses; by somebody else, pays
// ├── when the reference is zero, the amount is zero, the payee is zero or the contract: refuses
// ├── when the address of the payee has upper bits: refuses
// └── when the payee
//     ├── refuses: refuses and leaves the reference unsettled
//     ├── answers at length: pays, at no great cost
//     └── settles again: the same reference is refused, another is paid
// settleBatch
// ├── when all is right: pays all, in one word or in several
// ├── when an item is wrong, repeated or refused: pays none
// ├── when the lists differ in length, are empty or too long: refuses
// └── when the value is not the sum, overflow included: refuses
// isSettled, areSettled, supportsInterface, version
contract SettlementTest is SettlementFixture {
    function testFuzz_paysTheWholeValueOnce(bytes32 orderReference, address payee, uint128 amount) public {
        vm.assume(orderReference != 0 && amount != 0 && uint160(payee) > 0xffff && payee != address(settlement));
        vm.assume(payee.code.length == 0 && payee != PAYER);
        uint256 before = payee.balance;

        expectSettled(orderReference, PAYER, payee, address(0), amount);
        vm.prank(PAYER);
        settlement.settle{value: amount}(orderReference, payee);

        eq(payee.balance, before + amount, "the payee has it");
        eq(PAYER.balance, type(uint128).max - amount, "the payer has paid it");
        eq(address(settlement).balance, 0, "nothing stays");
        yes(settlement.isSettled(PAYER, orderReference), "settled");

        vm.deal(PAYER, amount);
        expectError(abi.encodeWithSelector(ISettlement.AlreadySettled.selector, PAYER, orderReference));
        vm.prank(PAYER);
        settlement.settle{value: amount}(orderReference, payee);
    }

    function testFuzz_marksNoOtherReferenceAndNobodyElses(bytes32 orderReference, bytes32 other, address who) public {
        vm.assume(orderReference != 0 && other != orderReference && who != PAYER);
        pay(PAYER, orderReference);
        no(settlement.isSettled(PAYER, other), "another reference");
        no(settlement.isSettled(who, orderReference), "another payer");
    }

    function testFuzz_tellsNeighboursApart(bytes32 block_, uint8 first, uint8 second) public {
        vm.assume(first != second);
        bytes32 base = bytes32(uint256(block_) | 0x100) & ~bytes32(uint256(0xff));
        pay(PAYER, base | bytes32(uint256(first)));
        no(settlement.isSettled(PAYER, base | bytes32(uint256(second))), "not yet");
        pay(PAYER, base | bytes32(uint256(second)));
        yes(settlement.isSettled(PAYER, base | bytes32(uint256(first))), "still");
        yes(settlement.isSettled(PAYER, base | bytes32(uint256(second))), "now");
    }

    function test_letsAnotherPayerUseTheSameReference() public {
        pay(PAYER, REFERENCE);
        pay(STRANGER, REFERENCE);
        eq(PAYEE.balance, 2, "paid twice, by two");
    }

    function test_refusesTheZeroReference() public {
        refuses(abi.encodeWithSelector(ISettlement.ZeroReference.selector), 0, PAYEE, 1);
    }

    function test_refusesToPayNothing() public {
        refuses(abi.encodeWithSelector(ISettlement.ZeroAmount.selector, REFERENCE), REFERENCE, PAYEE, 0);
    }

    function test_refusesThePayeesWhereMoneyIsLost() public {
        bytes4 selector = ISettlement.InvalidPayee.selector;
        refuses(abi.encodeWithSelector(selector, REFERENCE, address(0)), REFERENCE, address(0), 1);
        refuses(abi.encodeWithSelector(selector, REFERENCE, settlement), REFERENCE, address(settlement), 1);
    }

    function test_refusesAnAddressWithUpperBits() public {
        uint256 dirty = uint256(uint160(PAYEE)) | (1 << 160);
        vm.prank(PAYER);
        (bool success, ) = address(settlement).call{value: 1}(
            abi.encodeWithSelector(ISettlement.settle.selector, REFERENCE, dirty)
        );
        no(success, "refused");
        eq(PAYEE.balance, 0, "nothing paid");
    }

    function test_refusesCoinThatNamesNoOrder() public {
        vm.prank(PAYER);
        (bool success, ) = address(settlement).call{value: 1}("");
        no(success, "refused");
    }

    function test_leavesTheReferenceUnsettledWhenThePayeeRefuses() public {
        RefusingReceiver payee = new RefusingReceiver();
        refuses(
            abi.encodeWithSelector(ISettlement.PaymentRefused.selector, address(payee), 7),
            REFERENCE,
            address(payee),
            7
        );
        no(settlement.isSettled(PAYER, REFERENCE), "unsettled");

        payee.setWilling(true);
        vm.prank(PAYER);
        settlement.settle{value: 7}(REFERENCE, address(payee));
        eq(address(payee).balance, 7, "paid in the end");
    }

    function test_doesNotPayForTheCopyOfALongAnswer() public {
        ReturnBombReceiver payee = new ReturnBombReceiver();
        vm.prank(PAYER);
        uint256 gas = gasleft();
        settlement.settle{value: 1, gas: 3_000_000}(REFERENCE, address(payee));
        yes(gas - gasleft() < 2_500_000, "the megabyte was made once and copied never");

        payee.setReverting(true);
        vm.prank(PAYER);
        vm.expectRevert(abi.encodeWithSelector(ISettlement.PaymentRefused.selector, address(payee), 1));
        settlement.settle{value: 1, gas: 3_000_000}(keccak256("another"), address(payee));
    }

    function test_refusesTheSameReferenceFromWithinAndPaysAnother() public {
        ReentrantReceiver payee = new ReentrantReceiver(settlement);
        vm.deal(address(payee), 10);
        bytes memory again = abi.encodeCall(ISettlement.settle, (REFERENCE, PAYEE));
        payee.prepare(again, 3);

        // The payee settles the same reference, but under its own name: that is another order.
        vm.recordLogs();
        vm.prank(PAYER);
        settlement.settle{value: 5}(REFERENCE, address(payee));
        yes(payee.succeeded(), "its own order");
        yes(settlement.isSettled(address(payee), REFERENCE), "under its own name");
        eq(countLogs(ISettlement.Settled.selector), 2, "two events");

        payee.prepare(again, 3);
        vm.prank(PAYER);
        settlement.settle{value: 5}(keccak256("third"), address(payee));
        no(payee.succeeded(), "not twice");
        eq(PAYEE.balance, 3, "paid once");
    }

    function testFuzz_paysABatch(uint256 start, uint8 count) public {
        start = between(start, 1, type(uint256).max - 300);
        uint256 size = between(count, 1, 60);
        (bytes32[] memory references, address[] memory payees, uint256[] memory amounts, uint256 total) = batchOf(
            start,
            size
        );
        vm.recordLogs();
        vm.prank(PAYER);
        settlement.settleBatch{value: total}(references, payees, amounts);
        eq(countLogs(ISettlement.Settled.selector), size, "one event each");
        eq(address(settlement).balance, 0, "nothing stays");
        bool[] memory settled = settlement.areSettled(PAYER, references);
        for (uint256 i = 0; i < size; ++i) {
            eq(payees[i].balance, amounts[i], "paid");
            yes(settled[i], "settled");
        }
        no(settlement.isSettled(PAYER, bytes32(start - 1)), "not the one before");
        no(settlement.isSettled(PAYER, bytes32(start + size)), "not the one after");
    }

    function test_keepsTheBitsThatAWordHadBefore() public {
        pay(PAYER, bytes32(uint256(0x203)));
        (bytes32[] memory references, address[] memory payees, uint256[] memory amounts, uint256 total) = batchOf(
            0x1fe,
            4
        );
        vm.prank(PAYER);
        settlement.settleBatch{value: total}(references, payees, amounts);
        yes(settlement.isSettled(PAYER, bytes32(uint256(0x203))), "still settled");
        yes(settlement.isSettled(PAYER, bytes32(uint256(0x1fe))), "the first word");
        yes(settlement.isSettled(PAYER, bytes32(uint256(0x201))), "the second word");
        no(settlement.isSettled(PAYER, bytes32(uint256(0x202))), "no more than that");
    }

    function test_refusesABatchThatRepeatsAReference() public {
        bytes memory reason = abi.encodeWithSelector(ISettlement.AlreadySettled.selector, PAYER, REFERENCE);
        bytes32 apart = keccak256("in another word");
        refusesBatch(reason, listOf(REFERENCE, REFERENCE), listOf(PAYEE, PAYEE), listOf(1, 1), 2);

        bytes32[] memory references = new bytes32[](3);
        (references[0], references[1], references[2]) = (REFERENCE, apart, REFERENCE);
        address[] memory payees = new address[](3);
        uint256[] memory amounts = new uint256[](3);
        for (uint256 i = 0; i < 3; ++i) (payees[i], amounts[i]) = (PAYEE, 1);
        refusesBatch(reason, references, payees, amounts, 3);
        no(settlement.isSettled(PAYER, apart), "none is settled");
    }

    function test_paysNoneWhenOneItemIsWrong() public {
        bytes32 other = keccak256("other");
        bytes memory reason = abi.encodeWithSelector(ISettlement.ZeroReference.selector);
        refusesBatch(reason, listOf(REFERENCE, 0), listOf(PAYEE, PAYEE), listOf(1, 1), 2);
        reason = abi.encodeWithSelector(ISettlement.ZeroAmount.selector, other);
        refusesBatch(reason, listOf(REFERENCE, other), listOf(PAYEE, PAYEE), listOf(1, 0), 1);
        reason = abi.encodeWithSelector(ISettlement.InvalidPayee.selector, other, address(0));
        refusesBatch(reason, listOf(REFERENCE, other), listOf(PAYEE, address(0)), listOf(1, 1), 2);
        reason = abi.encodeWithSelector(ISettlement.InvalidPayee.selector, REFERENCE, settlement);
        refusesBatch(reason, listOf(REFERENCE, other), listOf(address(settlement), PAYEE), listOf(1, 1), 2);

        address refusing = address(new RefusingReceiver());
        reason = abi.encodeWithSelector(ISettlement.PaymentRefused.selector, refusing, 1);
        refusesBatch(reason, listOf(REFERENCE, other), listOf(PAYEE, refusing), listOf(1, 1), 2);

        pay(PAYER, other);
        reason = abi.encodeWithSelector(ISettlement.AlreadySettled.selector, PAYER, other);
        refusesBatch(reason, listOf(REFERENCE, other), listOf(STRANGER, STRANGER), listOf(1, 1), 2);
        no(settlement.isSettled(PAYER, REFERENCE), "none is settled");
    }

    function test_refusesABatchWithAnAddressThatHasUpperBits() public {
        bytes memory data = abi.encodeCall(
            ISettlement.settleBatch,
            (listOf(REFERENCE, keccak256("b")), listOf(PAYEE, PAYEE), listOf(1, 1))
        );
        data[4 + 32 * 7 + 11] = 0x01;
        vm.prank(PAYER);
        (bool success, ) = address(settlement).call{value: 2}(data);
        no(success, "refused");

        data[4 + 32 * 7 + 11] = 0x00;
        vm.prank(PAYER);
        (success, ) = address(settlement).call{value: 2}(data);
        yes(success, "paid without the bit");
    }

    function test_refusesABatchOfTheWrongValue() public {
        bytes4 selector = ISettlement.WrongValue.selector;
        bytes32[] memory references = listOf(REFERENCE, keccak256("b"));
        refusesBatch(abi.encodeWithSelector(selector, 2, 3), references, listOf(PAYEE, PAYEE), listOf(1, 2), 2);
        refusesBatch(abi.encodeWithSelector(selector, 4, 3), references, listOf(PAYEE, PAYEE), listOf(1, 2), 4);
    }

    function test_refusesABatchWhoseSumOverflowsToTheValue() public {
        uint256[] memory amounts = listOf(type(uint256).max, 6);
        bytes memory reason = abi.encodeWithSelector(ISettlement.PaymentRefused.selector, PAYEE, type(uint256).max);
        refusesBatch(reason, listOf(REFERENCE, keccak256("b")), listOf(PAYEE, PAYEE), amounts, 5);
    }

    function test_refusesListsOfDifferentLengths() public {
        bytes4 selector = ISettlement.LengthMismatch.selector;
        bytes32[] memory references = listOf(REFERENCE, keccak256("b"));
        bytes memory reason = abi.encodeWithSelector(selector, 2, 1, 2);
        refusesBatch(reason, references, new address[](1), new uint256[](2), 0);
        reason = abi.encodeWithSelector(selector, 2, 2, 3);
        refusesBatch(reason, references, new address[](2), new uint256[](3), 0);
        reason = abi.encodeWithSelector(selector, 1, 2, 2);
        refusesBatch(reason, new bytes32[](1), new address[](2), new uint256[](2), 0);
    }

    function test_refusesABatchOfNoneAndOneOfTooMany() public {
        bytes4 selector = ISettlement.InvalidBatchSize.selector;
        eq(settlement.MAX_BATCH_SIZE(), 1000, "the published limit");
        bytes memory reason = abi.encodeWithSelector(selector, 0, 1000);
        refusesBatch(reason, new bytes32[](0), new address[](0), new uint256[](0), 0);
        (bytes32[] memory references, address[] memory payees, uint256[] memory amounts, uint256 total) = batchOf(
            1,
            1001
        );
        refusesBatch(abi.encodeWithSelector(selector, 1001, 1000), references, payees, amounts, total);
    }

    function test_paysABatchOfTheLargestSize() public {
        (bytes32[] memory references, address[] memory payees, uint256[] memory amounts, uint256 total) = batchOf(
            1,
            1000
        );
        vm.prank(PAYER);
        settlement.settleBatch{value: total}(references, payees, amounts);
        eq(payees[999].balance, 1000, "the last one too");
    }

    function test_saysWhatItIs() public view {
        vm.assertEq(settlement.version(), "1", "version");
        IERC165 erc165 = IERC165(address(settlement));
        yes(erc165.supportsInterface(type(IERC165).interfaceId), "ERC-165");
        yes(erc165.supportsInterface(type(ISettlement).interfaceId), "the interface");
        no(erc165.supportsInterface(0xffffffff), "not everything");
        eq(settlement.areSettled(PAYER, new bytes32[](0)).length, 0, "an empty question");
    }

    function pay(address payer, bytes32 orderReference) private {
        vm.prank(payer);
        settlement.settle{value: 1}(orderReference, PAYEE);
    }

    function refuses(bytes memory reason, bytes32 orderReference, address payee, uint256 value) private {
        expectError(reason);
        vm.prank(PAYER);
        settlement.settle{value: value}(orderReference, payee);
    }

    function refusesBatch(
        bytes memory reason,
        bytes32[] memory references,
        address[] memory payees,
        uint256[] memory amounts,
        uint256 value
    ) private {
        uint256 before = PAYEE.balance;
        expectError(reason);
        vm.prank(PAYER);
        settlement.settleBatch{value: value}(references, payees, amounts);
        eq(PAYEE.balance, before, "nobody is paid");
    }
}
