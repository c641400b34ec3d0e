// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ISettlement} from "../../../contracts/interfaces/ISettlement.sol";
import {Test, Vm} from "./Test.sol";

/// @dev A settlement contract, a payer with money, payees without, and the words to speak about payments.
abstract contract SettlementFixture is Test {
    address internal constant PAYER = address(0x1000000000000000000000000000000000000001);
    address internal constant STRANGER = address(0x2000000000000000000000000000000000000002);
    address internal constant PAYEE = address(0x3000000000000000000000000000000000000003);
    bytes32 internal constant REFERENCE = keccak256("an order");

    ISettlement internal settlement;

    function setUp() public virtual {
        vm.warp(1_800_000_000);
        settlement = ISettlement(deployed("Settlement.sol:Settlement", ""));
        vm.deal(PAYER, type(uint128).max);
        vm.deal(STRANGER, type(uint128).max);
    }

    function expectSettled(
        bytes32 orderReference,
        address payer,
        address payee,
        address token,
        uint256 amount
    ) internal {
        vm.expectEmit(true, true, true, true, address(settlement));
        emit ISettlement.Settled(orderReference, payer, payee, token, amount);
    }

    function expectError(bytes memory reason) internal {
        vm.expectRevert(reason);
    }

    /// @dev How many logs of one kind the settlement contract left since the recording began.
    function countLogs(bytes32 topic) internal returns (uint256 count) {
        Vm.Log[] memory logs = vm.getRecordedLogs();
        for (uint256 i = 0; i < logs.length; ++i) {
            if (logs[i].emitter == address(settlement) && logs[i].topics[0] == topic) ++count;
        }
    }

    /// @dev Neighbouring references from a start, each one wei more than the one before, to payees of their own.
    function batchOf(
        uint256 start,
        uint256 size
    )
        internal
        pure
        returns (bytes32[] memory orderReferences, address[] memory payees, uint256[] memory amounts, uint256 total)
    {
        (orderReferences, payees, amounts) = (new bytes32[](size), new address[](size), new uint256[](size));
        for (uint256 i = 0; i < size; ++i) {
            orderReferences[i] = bytes32(start + i);
            payees[i] = address(uint160(0x5000000000000000000000000000000000000000) + uint160(i));
            amounts[i] = i + 1;
            total += amounts[i];
        }
    }

    function listOf(bytes32 a) internal pure returns (bytes32[] memory list) {
        list = new bytes32[](1);
        list[0] = a;
    }

    function listOf(address a) internal pure returns (address[] memory list) {
        list = new address[](1);
        list[0] = a;
    }

    function listOf(uint256 a) internal pure returns (uint256[] memory list) {
        list = new uint256[](1);
        list[0] = a;
    }

    function listOf(bytes32 a, bytes32 b) internal pure returns (bytes32[] memory list) {
        list = new bytes32[](2);
        (list[0], list[1]) = (a, b);
    }

    function listOf(address a, address b) internal pure returns (address[] memory list) {
        list = new address[](2);
        (list[0], list[1]) = (a, b);
    }

    function listOf(uint256 a, uint256 b) internal pure returns (uint256[] memory list) {
        list = new uint256[](2);
        (list[0], list[1]) = (a, b);
    }
}
