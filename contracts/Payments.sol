// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {StorageSlot} from "@openzeppelin/contracts/utils/StorageSlot.sol";

import {ISettlement} from "./interfaces/ISettlement.sol";

/// @title Payments
/// @notice What every payment of {Settlement} is made of: the check of an order, the mark of its reference, the log,
/// and the move of the money, in this order.
abstract contract Payments is ISettlement {
    using SafeERC20 for IERC20;

    /// @inheritdoc ISettlement
    uint256 public constant MAX_BATCH_SIZE = 1000;

    /// @dev Checks the order, marks its reference and logs the payment, all before anybody else is called.
    function _record(
        address payee,
        uint256 amount,
        bytes32 orderReference,
        address authority,
        address token,
        address payer
    ) internal {
        StorageSlot.Uint256Slot storage word = _word(authority, orderReference);
        uint256 bits = word.value;
        uint256 bit = _bit(orderReference);
        if (_isWrong(payee, amount, orderReference, bits & bit)) _refuse(payee, amount, orderReference, authority);
        word.value = bits | bit;
        _log(orderReference, payer, payee, token, amount);
    }

    /// @dev Checks the orders of the caller's batch and marks their references, and only then may anybody be called.
    /// Neighbours share one read and one write of their word.
    function _markBatch(
        bytes32[] calldata orderReferences,
        address[] calldata payees,
        uint256[] calldata amounts
    ) internal returns (uint256 total) {
        _checkBatch(orderReferences, payees, amounts);
        bytes32 current = orderReferences[0];
        StorageSlot.Uint256Slot storage word = _word(msg.sender, current);
        uint256 bits = word.value;
        for (uint256 i = 0; i < orderReferences.length; ++i) {
            (bytes32 orderReference, address payee, uint256 amount) = _item(orderReferences, payees, amounts, i);
            _checkAddress(payee);
            if ((orderReference ^ current) >> 8 != 0) {
                word.value = bits;
                current = orderReference;
                word = _word(msg.sender, current);
                bits = word.value;
            }
            uint256 bit = _bit(orderReference);
            if (_isWrong(payee, amount, orderReference, bits & bit)) {
                _refuse(payee, amount, orderReference, msg.sender);
            }
            bits |= bit;
            unchecked {
                // If it overflows, no balance can pay the items, and none is paid.
                total += amount;
            }
        }
        word.value = bits;
    }

    /// @dev Assembly, because a log in Solidity allocates memory and cleans addresses that are clean: they come from
    /// calldata that was checked, or are the caller's.
    function _log(bytes32 orderReference, address payer, address payee, address token, uint256 amount) internal {
        bytes32 topic = Settled.selector;
        assembly ("memory-safe") {
            mstore(0x00, token)
            mstore(0x20, amount)
            log4(0x00, 0x40, topic, orderReference, payer, payee)
        }
    }

    /// @dev Says what is wrong with an order that {_record} found something wrong with.
    function _refuse(address payee, uint256 amount, bytes32 orderReference, address authority) internal view {
        if (orderReference == 0) revert ZeroReference();
        if (amount == 0) revert ZeroAmount(orderReference);
        if (payee == address(0) || payee == address(this)) revert InvalidPayee(orderReference, payee);
        revert AlreadySettled(authority, orderReference);
    }

    /// @dev Sends native coin. Assembly, because a call in Solidity copies the answer, and a payee could make the
    /// caller pay for a long one.
    function _send(address payee, uint256 amount, uint256 gasLimit) internal returns (bool success) {
        assembly ("memory-safe") {
            success := call(gasLimit, payee, amount, 0, 0, 0, 0)
        }
    }

    /// @dev Moves tokens from the caller to the payee and checks that they arrived.
    function _pull(address token, address payer, address payee, uint256 amount) internal {
        uint256 before = _balance(token, payee);
        if (!IERC20(token).trySafeTransferFrom(payer, payee, amount)) _refuseTransfer(payee, amount);
        _checkDelivery(token, payee, before, amount);
    }

    /// @dev Names the payment that the token has refused, with what it said. Assembly, because Solidity would copy that
    /// twice.
    function _refuseTransfer(address payee, uint256 amount) private pure {
        bytes4 selector = TransferRefused.selector;
        assembly ("memory-safe") {
            let data := mload(0x40)
            mstore(data, selector)
            mstore(add(data, 0x04), payee)
            mstore(add(data, 0x24), amount)
            mstore(add(data, 0x44), 0x60)
            mstore(add(data, 0x64), returndatasize())
            returndatacopy(add(data, 0x84), 0x00, returndatasize())
            revert(data, add(0x84, and(add(returndatasize(), 0x1f), not(0x1f))))
        }
    }

    function _checkDelivery(address token, address account, uint256 before, uint256 expected) internal view {
        unchecked {
            // A balance that shrank wraps around, and so differs too.
            uint256 delivered = _balance(token, account) - before;
            if (delivered != expected) revert WrongDelivery(token, account, expected, delivered);
        }
    }

    function _checkValue(uint256 expected) internal view {
        if (msg.value != expected) revert WrongValue(msg.value, expected);
    }

    function _balance(address token, address account) internal view returns (uint256) {
        return uint256(_read(token, IERC20.balanceOf.selector, account));
    }

    /// @dev Reads one word from a token. Written in assembly because it is asked twice per payment and would otherwise
    /// leave a copy of its arguments in memory each time, and because a silent address must not pass for a token.
    function _read(address token, bytes4 selector, address argument) internal view returns (bytes32 word) {
        bool success;
        assembly ("memory-safe") {
            mstore(0x00, selector)
            mstore(0x04, argument)
            success := staticcall(gas(), token, 0x00, 0x24, 0x00, 0x20)
            success := and(success, gt(returndatasize(), 0x1f))
            word := mload(0x00)
        }
        if (!success) revert InvalidToken(token);
    }

    function _checkBatch(
        bytes32[] calldata orderReferences,
        address[] calldata payees,
        uint256[] calldata amounts
    ) internal pure {
        uint256 size = orderReferences.length;
        if (size != payees.length || size != amounts.length) {
            revert LengthMismatch(size, payees.length, amounts.length);
        }
        if (size == 0 || size > MAX_BATCH_SIZE) revert InvalidBatchSize(size, MAX_BATCH_SIZE);
    }

    /// @dev Whether {_refuse} has something to say. Assembly, because one test of all is cheaper than four.
    function _isWrong(
        address payee,
        uint256 amount,
        bytes32 orderReference,
        uint256 settled
    ) internal view returns (bool wrong) {
        assembly ("memory-safe") {
            let payeeIsWrong := or(iszero(payee), eq(payee, address()))
            let orderIsWrong := or(iszero(orderReference), iszero(amount))
            wrong := iszero(iszero(or(settled, or(payeeIsWrong, orderIsWrong))))
        }
    }

    /// @dev One item of a batch. Assembly, because the lists were found to be of one length and `i` is below it, so
    /// that three tests per item can go.
    /// @dev Warning: the address is as it came; see {_checkAddress}.
    function _item(
        bytes32[] calldata orderReferences,
        address[] calldata payees,
        uint256[] calldata amounts,
        uint256 i
    ) internal pure returns (bytes32 orderReference, address payee, uint256 amount) {
        assembly ("memory-safe") {
            let offset := shl(5, i)
            orderReference := calldataload(add(orderReferences.offset, offset))
            payee := calldataload(add(payees.offset, offset))
            amount := calldataload(add(amounts.offset, offset))
        }
    }

    /// @dev Refuses an address with upper bits as the ABI decoder would.
    function _checkAddress(address account) internal pure {
        assembly ("memory-safe") {
            if shr(160, account) {
                revert(0, 0)
            }
        }
    }

    /// @dev The storage word of a reference, at the hash of the 20 bytes of the authority and the first 31 of the
    /// reference. Nothing else is stored here, so one hash is enough, where a mapping in a mapping takes two.
    function _word(
        address authority,
        bytes32 orderReference
    ) internal pure returns (StorageSlot.Uint256Slot storage word) {
        assembly ("memory-safe") {
            mstore(0x00, authority)
            mstore(0x20, orderReference)
            word.slot := keccak256(0x0c, 0x33)
        }
    }

    function _bit(bytes32 orderReference) internal pure returns (uint256) {
        return 1 << (uint256(orderReference) & 0xff);
    }
}
