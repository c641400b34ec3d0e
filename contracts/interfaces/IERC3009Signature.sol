// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title ERC-3009 for wallets without a key
/// @notice The overloads that USDC added to ERC-3009: the signature is opaque bytes, so that an ERC-1271 wallet can
/// sign as well as a key. The rules are those of ERC-3009.
interface IERC3009Signature {
    /// @notice Moves `value` from `from` to `to` by a signature of `from`.
    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes calldata signature
    ) external;

    /// @notice As the above, but only `to` may call it.
    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes calldata signature
    ) external;

    /// @notice Makes an authorization unusable before it is used.
    function cancelAuthorization(address authorizer, bytes32 nonce, bytes calldata signature) external;
}
