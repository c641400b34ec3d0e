// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Permit.sol";
import {IERC3009} from "@openzeppelin/contracts/interfaces/draft-IERC3009.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {MessageHashUtils} from "@openzeppelin/contracts/utils/cryptography/MessageHashUtils.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";
import {ERC165, IERC165} from "@openzeppelin/contracts/utils/introspection/ERC165.sol";
import {LowLevelCall} from "@openzeppelin/contracts/utils/LowLevelCall.sol";

import {IERC3009Signature} from "./interfaces/IERC3009Signature.sol";
import {ISettlement} from "./interfaces/ISettlement.sol";
import {Payments} from "./Payments.sol";

/// @title Settlement
/// @notice See {ISettlement}, which is the specification.
/// @dev There is no reentrancy guard, because there is nothing to guard: a reference is marked before anybody is
/// called, each call spends only the value it came with, and no call reads what another one left behind.
contract Settlement is Payments, EIP712, ERC165 {
    using SafeERC20 for IERC20;

    /// @dev What the payee of an item in a partial batch gets, less the 2,300 that the chain adds to a call with value.
    uint256 private constant ITEM_GAS = 100_000 - 2300;

    /// @dev What must be left when an item of a partial batch pays: enough for a payee with code to get {ITEM_GAS}, as
    /// the chain keeps a 64th back, for one without to be created, which costs some 190,000 gas on Amsterdam, and for a
    /// token to move.
    uint256 private constant ITEM_RESERVE = 300_000;

    bytes32 private constant INTENT_TYPEHASH = keccak256(
        "Intent(address operator,bytes32 orderReference,address payee,"
        "address token,uint256 amount,uint256 deadline)"
    );

    bytes32 private constant RECEIVE_WITH_AUTHORIZATION_TYPEHASH = keccak256(
        "ReceiveWithAuthorization(address from,address to,uint256 value,"
        "uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );

    constructor() EIP712("Quittance Settlement", "1") {}

    /// @inheritdoc ISettlement
    function settle(bytes32 orderReference, address payee) external payable {
        _record(payee, msg.value, orderReference, msg.sender, address(0), msg.sender);
        if (!_send(payee, msg.value, gasleft())) revert PaymentRefused(payee, msg.value);
    }

    /// @inheritdoc ISettlement
    function settleToken(bytes32 orderReference, address token, address payee, uint256 amount) external {
        _record(payee, amount, orderReference, msg.sender, token, msg.sender);
        _pull(token, msg.sender, payee, amount);
    }

    /// @inheritdoc ISettlement
    function settleBatch(
        bytes32[] calldata orderReferences,
        address[] calldata payees,
        uint256[] calldata amounts
    ) external payable {
        _checkBatch(orderReferences, payees, amounts);
        _mark(msg.sender, orderReferences);
        uint256 total = 0;
        for (uint256 i = 0; i < orderReferences.length; ++i) {
            (bytes32 orderReference, address payee, uint256 amount) = _item(orderReferences, payees, amounts, i);
            _checkOrder(payee, amount, orderReference);
            unchecked {
                // If it overflows, no balance can pay the items, and none is paid.
                total += amount;
            }
        }
        _checkValue(total);
        for (uint256 i = 0; i < orderReferences.length; ++i) {
            (bytes32 orderReference, address payee, uint256 amount) = _item(orderReferences, payees, amounts, i);
            _log(orderReference, msg.sender, payee, address(0), amount);
            if (!_send(payee, amount, gasleft())) revert PaymentRefused(payee, amount);
        }
    }

    /// @inheritdoc ISettlement
    function settleTokenBatch(
        bytes32[] calldata orderReferences,
        address token,
        address[] calldata payees,
        uint256[] calldata amounts
    ) external {
        _checkBatch(orderReferences, payees, amounts);
        _mark(msg.sender, orderReferences);
        _pullBatch(token, orderReferences, payees, amounts);
    }

    /// @inheritdoc ISettlement
    function settleBatchPartial(
        bytes32[] calldata orderReferences,
        address[] calldata payees,
        uint256[] calldata amounts
    ) external payable returns (uint256 paid) {
        (uint256 total, uint256 failed) = _settlePartial(orderReferences, address(0), payees, amounts);
        _checkValue(total);
        unchecked {
            paid = total - failed;
        }

        // A checked subtraction: to pay more than came in, out of somebody else's call, ends here.
        uint256 left = msg.value - paid;
        if (left != 0 && !_send(msg.sender, left, gasleft())) revert ReturnRefused(msg.sender, left);
    }

    /// @inheritdoc ISettlement
    function settleTokenBatchPartial(
        bytes32[] calldata orderReferences,
        address token,
        address[] calldata payees,
        uint256[] calldata amounts
    ) external returns (uint256 paid) {
        // Otherwise a caller could take the native coin that this contract holds during another batch.
        if (token == address(0)) revert InvalidToken(token);
        (uint256 total, uint256 failed) = _settlePartial(orderReferences, token, payees, amounts);
        unchecked {
            paid = total - failed;
        }
    }

    /// @inheritdoc ISettlement
    function payOneItemOfBatch() external payable {
        if (msg.sender != address(this)) revert OnlySelf(msg.sender);
        address payer;
        address token;
        bytes32 orderReference;
        address payee;
        uint256 amount;
        assembly ("memory-safe") {
            // This contract has checked its own addresses. Each word stands where {_tryItem} puts it.
            payer := calldataload(0x04)
            token := calldataload(0x24)
            orderReference := calldataload(0x44)
            payee := calldataload(0x64)
            amount := calldataload(0x84)
        }
        _record(payee, amount, orderReference, payer, token, payer);
        if (gasleft() < ITEM_RESERVE) revert InsufficientGas(gasleft(), ITEM_RESERVE);
        if (token != address(0)) _pull(token, payer, payee, amount);
        else if (!_send(payee, amount, ITEM_GAS)) revert PaymentRefused(payee, amount);
    }

    /// @inheritdoc ISettlement
    function settleWithIntent(Intent calldata intent, bytes calldata signature) external payable {
        if (block.timestamp > intent.deadline) revert IntentExpired(intent.deadline, block.timestamp);
        (address payee, address token, uint256 amount) = (intent.payee, intent.token, intent.amount);
        address operator = intent.operator;
        _checkSignature(operator, _hashTypedDataV4(_hashIntent(intent)), signature);

        _record(payee, amount, intent.orderReference, operator, token, msg.sender);
        if (token == address(0)) {
            _checkValue(amount);
            if (!_send(payee, amount, gasleft())) revert PaymentRefused(payee, amount);
        } else {
            _checkValue(0);
            _pull(token, msg.sender, payee, amount);
        }
    }

    /// @inheritdoc ISettlement
    function settleWithPermit(
        bytes32 orderReference,
        address token,
        address payee,
        uint256 amount,
        Permit calldata permit
    ) external {
        _record(payee, amount, orderReference, msg.sender, token, msg.sender);
        bytes memory data = abi.encodeCall(
            IERC20Permit.permit,
            (msg.sender, address(this), amount, permit.deadline, permit.v, permit.r, permit.s)
        );
        if (!LowLevelCall.callNoReturn(token, data)) _checkAllowance(token, amount);
        _pull(token, msg.sender, payee, amount);
    }

    /// @inheritdoc ISettlement
    function settleWithAuthorization(
        bytes32 orderReference,
        address token,
        address payee,
        uint256 amount,
        address payer,
        uint256 validAfter,
        uint256 validBefore,
        bytes calldata signature
    ) external {
        bytes memory data = _authorizedCall(
            payer,
            amount,
            validAfter,
            validBefore,
            authorizationNonce(orderReference, token, payee)
        );
        bytes32 domainSeparator = _read(token, IERC20Permit.DOMAIN_SEPARATOR.selector, address(0));
        bytes32 digest = MessageHashUtils.toTypedDataHash(domainSeparator, keccak256(data));
        bool byKey = _checkSignature(payer, digest, signature);

        _record(payee, amount, orderReference, payer, token, payer);
        uint256 held = _balance(token, address(this));
        if (!_callAuthorized(token, data, signature, byKey)) LowLevelCall.bubbleRevert();
        _checkDelivery(token, address(this), held, amount);

        uint256 before = _balance(token, payee);
        IERC20(token).safeTransfer(payee, amount);
        _checkDelivery(token, payee, before, amount);
    }

    /// @inheritdoc ISettlement
    function isSettled(address authority, bytes32 orderReference) public view returns (bool) {
        return _word(authority, orderReference).value & _bit(orderReference) != 0;
    }

    /// @inheritdoc ISettlement
    function areSettled(
        address authority,
        bytes32[] calldata orderReferences
    ) external view returns (bool[] memory settled) {
        settled = new bool[](orderReferences.length);
        for (uint256 i = 0; i < orderReferences.length; ++i) settled[i] = isSettled(authority, orderReferences[i]);
    }

    /// @inheritdoc ISettlement
    function authorizationNonce(bytes32 orderReference, address token, address payee) public view returns (bytes32) {
        return keccak256(abi.encode(block.chainid, address(this), orderReference, token, payee));
    }

    /// @inheritdoc ISettlement
    function version() external view returns (string memory) {
        return _EIP712Version();
    }

    /// @inheritdoc IERC165
    function supportsInterface(bytes4 interfaceId) public view override returns (bool) {
        return interfaceId == type(ISettlement).interfaceId || super.supportsInterface(interfaceId);
    }

    /// @dev Tries each item of the caller's partial batch. Both sums may overflow by amounts that nobody has, and that
    /// fail. Their difference is what was paid.
    /// @param token What is paid: an ERC-20, or zero for native coin.
    function _settlePartial(
        bytes32[] calldata orderReferences,
        address token,
        address[] calldata payees,
        uint256[] calldata amounts
    ) private returns (uint256 total, uint256 failed) {
        _checkBatch(orderReferences, payees, amounts);
        bytes memory data = abi.encodeWithSelector(this.payOneItemOfBatch.selector, msg.sender, token, 0, 0, 0);
        unchecked {
            for (uint256 i = 0; i < orderReferences.length; ++i) {
                (bytes32 orderReference, address payee, uint256 amount) = _item(orderReferences, payees, amounts, i);
                _checkAddress(payee);
                total += amount;
                (bool success, bytes4 reason) = _tryItem(data, orderReference, payee, amount);
                if (!success) {
                    // An item that ran dry has no reason to give. Neither may pass for a refusal by the payee.
                    if (reason == 0 || reason == InsufficientGas.selector) {
                        revert InsufficientGas(gasleft(), ITEM_RESERVE);
                    }
                    emit SettlementFailed(orderReference, msg.sender, payee, amount, reason);
                    failed += amount;
                }
            }
        }
    }

    /// @dev Tries one item of a partial batch. Assembly, because the call is encoded once for all items.
    /// @param data The call, in which the item is replaced.
    /// @return success Whether the item was paid.
    /// @return reason The selector of the error, if the item has failed and says why.
    function _tryItem(
        bytes memory data,
        bytes32 orderReference,
        address payee,
        uint256 amount
    ) private returns (bool success, bytes4 reason) {
        assembly ("memory-safe") {
            mstore(add(data, 0x64), orderReference)
            mstore(add(data, 0x84), payee)
            mstore(add(data, 0xa4), amount)
            success := call(gas(), address(), 0, add(data, 0x20), 0xa4, 0x00, 0x00)
            if gt(returndatasize(), 0x03) {
                returndatacopy(0x00, 0x00, 0x04)
                reason := and(mload(0x00), shl(224, 0xffffffff))
            }
        }
    }

    /// @dev What the payer of an authorization signs: the type, and the words that the token is called with.
    function _authorizedCall(
        address payer,
        uint256 amount,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce
    ) private view returns (bytes memory data) {
        bytes32 typehash = RECEIVE_WITH_AUTHORIZATION_TYPEHASH;
        assembly ("memory-safe") {
            data := mload(0x40)
            mstore(data, 0xe0)
            mstore(add(data, 0x20), typehash)
            mstore(add(data, 0x40), payer)
            mstore(add(data, 0x60), address())
            mstore(add(data, 0x80), amount)
            mstore(add(data, 0xa0), validAfter)
            mstore(add(data, 0xc0), validBefore)
            mstore(add(data, 0xe0), nonce)
            mstore(0x40, add(data, 0x100))
        }
    }

    /// @dev Uses an authorization: by ERC-3009 itself where a key signed, which every such token has; the overload for
    /// ERC-1271 is younger.
    function _callAuthorized(
        address token,
        bytes memory data,
        bytes calldata signature,
        bool byKey
    ) private returns (bool success) {
        bytes4 selector =
            byKey ? IERC3009.receiveWithAuthorization.selector : IERC3009Signature.receiveWithAuthorization.selector;
        assembly ("memory-safe") {
            mstore(add(data, 0x20), shr(224, selector))
            let tail := add(data, 0x100)
            let size := 0x124
            switch byKey
            case 1 {
                mstore(tail, byte(0, calldataload(add(signature.offset, 0x40))))
                calldatacopy(add(tail, 0x20), signature.offset, 0x40)
            }
            default {
                mstore(tail, 0xe0)
                mstore(add(tail, 0x20), signature.length)
                calldatacopy(add(tail, 0x40), signature.offset, signature.length)
                size := add(0x104, and(add(signature.length, 0x1f), not(0x1f)))
            }
            success := call(gas(), token, 0, add(data, 0x3c), size, 0x00, 0x00)
        }
    }

    /// @dev After a permit that failed: somebody may have used it first, and then its allowance is there.
    function _checkAllowance(address token, uint256 amount) private view {
        (bool success, bytes32 word, ) = LowLevelCall.staticcallReturn64Bytes(
            token,
            abi.encodeCall(IERC20.allowance, (msg.sender, address(this)))
        );
        if (!success || LowLevelCall.returnDataSize() < 0x20) revert InvalidToken(token);
        uint256 allowance = uint256(word);
        if (allowance < amount) revert PermitRefused(token, msg.sender, allowance, amount);
    }

    /// @dev Tells a signature by key from one by contract; reverts if it is neither.
    function _checkSignature(
        address signer,
        bytes32 digest,
        bytes calldata signature
    ) private view returns (bool byKey) {
        (address recovered, , ) = ECDSA.tryRecoverCalldata(digest, signature);
        if (recovered == signer && signer != address(0)) return true;
        if (SignatureChecker.isValidERC1271SignatureNowCalldata(signer, digest, signature)) return false;
        revert InvalidSignature(signer, recovered);
    }

    /// @dev The EIP-712 hash of an intent. Assembly, because the struct lies in calldata as it is hashed; its addresses
    /// were checked where they are read.
    function _hashIntent(Intent calldata intent) private pure returns (bytes32 structHash) {
        bytes32 typehash = INTENT_TYPEHASH;
        assembly ("memory-safe") {
            let data := mload(0x40)
            mstore(data, typehash)
            calldatacopy(add(data, 0x20), intent, 0xc0)
            structHash := keccak256(data, 0xe0)
        }
    }
}
