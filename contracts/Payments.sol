// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {LowLevelCall} from "@openzeppelin/contracts/utils/LowLevelCall.sol";
import {StorageSlot} from "@openzeppelin/contracts/utils/StorageSlot.sol";

import {ISettlement} from "./interfaces/ISettlement.sol";

/// @title Payments
/// @notice What every payment of {Settlement} is made of: the check of an order, the mark of its reference, the log,
/// and the move of the money. Each reference is marked before anybody else is called.
abstract contract Payments is ISettlement {
    /// @inheritdoc ISettlement
    uint256 public constant MAX_BATCH_SIZE = 1000;

    /// @dev Checks the order, marks its reference and logs the payment, all before anybody else is called. Assembly,
    /// because one test of all is cheaper than five. The place of the word is that of {_word}.
    function _record(
        address payee,
        uint256 amount,
        bytes32 orderReference,
        address authority,
        address token,
        address payer
    ) internal {
        uint256 wrong;
        uint256 slot;
        uint256 bits;
        assembly ("memory-safe") {
            mstore(0x00, authority)
            mstore(0x20, orderReference)
            slot := keccak256(0x0c, 0x33)
            bits := sload(slot)
            let bit := shl(and(orderReference, 0xff), 1)
            let payeeIsWrong := or(iszero(payee), eq(payee, address()))
            let orderIsWrong := or(iszero(orderReference), iszero(amount))
            wrong := or(and(bits, bit), or(payeeIsWrong, orderIsWrong))
            bits := or(bits, bit)
        }
        if (wrong != 0) _refuse(payee, amount, orderReference, authority);
        assembly ("memory-safe") {
            sstore(slot, bits)
        }
        _log(orderReference, payer, payee, token, amount);
    }

    /// @dev Marks the references of one authority, and only then may anybody be called. Neighbours share one read and
    /// one write of their word. Assembly, because this is a third of what our own code costs for an item of a batch.
    ///
    /// A shift by 256 or more leaves no bit, so a reference of another word changes nothing, as one does that is marked
    /// already. Both end the inner loop, and only the latter ends it again where it starts anew.
    function _mark(address authority, bytes32[] calldata orderReferences) internal {
        bytes32 refused;
        bool isZero;
        assembly ("memory-safe") {
            let at := orderReferences.offset
            let end := add(at, shl(5, orderReferences.length))
            mstore(0x00, authority)
            for {} lt(at, end) {} {
                let start := at
                let orderReference := calldataload(at)
                let first := shl(8, shr(8, orderReference))
                mstore(0x20, orderReference)
                let slot := keccak256(0x0c, 0x33)
                let bits := sload(slot)
                for {} 1 {} {
                    let marked := or(shl(xor(calldataload(at), first), 1), bits)
                    if eq(marked, bits) {
                        break
                    }
                    bits := marked
                    at := add(at, 0x20)
                    if eq(at, end) {
                        break
                    }
                }
                // Bit 0 of word 0 is that of the zero reference, and is never stored.
                isZero := and(bits, iszero(first))
                if or(isZero, eq(at, start)) {
                    refused := orderReference
                    break
                }
                sstore(slot, bits)
            }
        }
        if (isZero) revert ZeroReference();
        if (refused != 0) revert AlreadySettled(authority, refused);
    }

    /// @dev Checks what of an order {_mark} has not looked at. Assembly, because one test of all is cheaper than four.
    function _checkOrder(address payee, uint256 amount, bytes32 orderReference) internal view {
        uint256 wrong;
        assembly ("memory-safe") {
            wrong := or(or(iszero(amount), shr(160, payee)), or(iszero(payee), eq(payee, address())))
        }
        if (wrong != 0) _refuse(payee, amount, orderReference, msg.sender);
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

    /// @dev Says what is wrong with an order that something was found wrong with.
    function _refuse(address payee, uint256 amount, bytes32 orderReference, address authority) internal view {
        _checkAddress(payee);
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

    /// @dev Pays the items of the caller's batch in a token. Of each it checks the order, but for the reference, which
    /// {_mark} has checked, logs the payment, moves the money, and checks that it arrived as {_pull} does. Assembly,
    /// because the calls are written once for all items, and only what differs between two of them is replaced:
    ///
    /// - at 0x80 the call of `transferFrom`, with the payee at 0xa4 and the amount at 0xc4;
    /// - at 0x100 the call of `balanceOf`, with the payee at 0x104;
    /// - at 0x140 what is logged: the token, and the amount at 0x160;
    /// - at 0x180 the answer of `transferFrom`, which stays 1 where there is none.
    ///
    /// Nothing else is in memory: no caller has allocated any, and a test holds the compiler to keeping no variable
    /// there. Both balances are answered at 0x00. Whether the first was is not asked: where nobody answers, the second
    /// does not differ from it, and a token that keeps silent only once could as well lie.
    // solhint-disable-next-line function-max-lines
    function _pullBatch(
        address token,
        bytes32[] calldata orderReferences,
        address[] calldata payees,
        uint256[] calldata amounts
    ) internal {
        bytes4 transferFrom = IERC20.transferFrom.selector;
        bytes4 balanceOf = IERC20.balanceOf.selector;
        bytes32 topic = Settled.selector;
        uint256 failure;
        bytes32 orderReference;
        address payee;
        uint256 amount;
        uint256 before;
        assembly ("memory-safe") {
            mstore(0x80, transferFrom)
            mstore(0x84, caller())
            mstore(0x100, balanceOf)
            mstore(0x140, token)
            mstore(0x180, 1)
            let at := orderReferences.offset
            let end := add(at, shl(5, orderReferences.length))
            let toPayee := sub(payees.offset, at)
            let toAmount := sub(amounts.offset, at)
            for {} 1 {} {
                let to := calldataload(add(at, toPayee))
                let value := calldataload(add(at, toAmount))
                // Zero less one is above all addresses.
                if or(
                    or(iszero(value), eq(to, address())),
                    gt(sub(to, 1), 0xfffffffffffffffffffffffffffffffffffffffe)
                ) {
                    failure := 1
                    break
                }

                mstore(0x160, value)
                log4(0x140, 0x40, topic, calldataload(at), caller(), to)

                mstore(0x104, to)
                pop(staticcall(gas(), token, 0x100, 0x24, 0x00, 0x20))
                let held := mload(0x00)
                mstore(0xa4, to)
                mstore(0xc4, value)
                if iszero(and(eq(mload(0x180), 1), call(gas(), token, 0, 0x80, 0x64, 0x180, 0x20))) {
                    failure := 2
                    break
                }
                if or(xor(sub(mload(0x00), held), value), iszero(staticcall(gas(), token, 0x100, 0x24, 0x00, 0x20))) {
                    failure := 3
                    before := held
                    break
                }
                at := add(at, 0x20)
                if eq(at, end) {
                    break
                }
            }
            orderReference := calldataload(at)
            payee := calldataload(add(at, toPayee))
            amount := calldataload(add(at, toAmount))
        }
        if (failure == 1) _refuse(payee, amount, orderReference, msg.sender);
        if (failure == 2) _refuseTransfer(token, payee, amount);
        if (failure == 3) _refuseDelivery(token, payee, before, amount);
    }

    /// @dev Moves tokens from the payer to the payee and checks that they arrived. Assembly, because {SafeERC20} cleans
    /// addresses that are clean, and asks for the code of a token that has answered already.
    function _pull(address token, address payer, address payee, uint256 amount) internal {
        uint256 before = _balance(token, payee);
        bool moved;
        bytes4 selector = IERC20.transferFrom.selector;
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore(0x00, selector)
            mstore(0x04, payer)
            mstore(0x24, payee)
            mstore(0x44, amount)
            moved := call(gas(), token, 0, 0x00, 0x64, 0x00, 0x20)
            moved := and(or(iszero(returndatasize()), eq(mload(0x00), 1)), moved)
            mstore(0x40, free)
            mstore(0x60, 0)
        }
        if (!moved) _refuseTransfer(token, payee, amount);
        _checkDelivery(token, payee, before, amount);
    }

    /// @dev Names the payment that the token has refused, with what it said. Assembly, because Solidity would copy that
    /// twice.
    function _refuseTransfer(address token, address payee, uint256 amount) private view {
        uint256 size = LowLevelCall.returnDataSize();
        // What is no token says nothing either.
        if (size == 0) _balance(token, payee);
        bytes4 selector = TransferRefused.selector;
        assembly ("memory-safe") {
            let data := mload(0x40)
            mstore(data, selector)
            mstore(add(data, 0x04), payee)
            mstore(add(data, 0x24), amount)
            mstore(add(data, 0x44), 0x60)
            mstore(add(data, 0x64), size)
            returndatacopy(add(data, 0x84), 0x00, size)
            revert(data, add(0x84, and(add(size, 0x1f), not(0x1f))))
        }
    }

    function _checkDelivery(address token, address account, uint256 before, uint256 expected) internal view {
        unchecked {
            // A balance that shrank wraps around, and so differs too.
            if (_balance(token, account) - before != expected) _refuseDelivery(token, account, before, expected);
        }
    }

    /// @dev Asks again what was delivered, to say so.
    function _refuseDelivery(address token, address account, uint256 before, uint256 expected) private view {
        unchecked {
            revert WrongDelivery(token, account, expected, _balance(token, account) - before);
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
