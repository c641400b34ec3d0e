// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

// prettier-ignore
import {
    IAccessControlDefaultAdminRules
} from "@openzeppelin/contracts/access/extensions/IAccessControlDefaultAdminRules.sol";
import {IERC3009, IERC3009Cancel} from "@openzeppelin/contracts/interfaces/draft-IERC3009.sol";
import {IERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Permit.sol";
import {IERC20Metadata} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Metadata.sol";

import {IERC3009Signature} from "../../../contracts/interfaces/IERC3009Signature.sol";
import {IReferenceDollar} from "../../../contracts/interfaces/IReferenceDollar.sol";
import {Test} from "./Test.sol";

/// @dev All that the dollar offers, so that tests can speak to what the build has made without compiling it again.
interface Dollar is
    IReferenceDollar,
    IERC3009Signature,
    IERC20Metadata,
    IERC20Permit,
    IERC3009,
    IERC3009Cancel,
    IAccessControlDefaultAdminRules
{
    function PAUSER_ROLE() external view returns (bytes32);
    function FREEZER_ROLE() external view returns (bytes32);
    function MAX_MINTERS() external view returns (uint256);
    function paused() external view returns (bool);
    function supportsInterface(bytes4 interfaceId) external view returns (bool);
}

/// @dev Signatures that the dollar takes, all valid in the hour of the tests.
abstract contract DollarSigner is Test {
    uint256 internal constant VALID_AFTER = 1_799_999_000;
    uint256 internal constant VALID_BEFORE = 1_800_003_600;

    bytes32 internal constant PERMIT_TYPEHASH = keccak256(
        "Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)"
    );
    bytes32 internal constant TRANSFER_TYPEHASH = keccak256(
        "TransferWithAuthorization(address from,address to,uint256 value,"
        "uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );
    bytes32 internal constant RECEIVE_TYPEHASH = keccak256(
        "ReceiveWithAuthorization(address from,address to,uint256 value,"
        "uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );
    bytes32 internal constant CANCEL_TYPEHASH = keccak256("CancelAuthorization(address authorizer,bytes32 nonce)");

    function signReceive(
        Dollar dollar,
        uint256 key,
        address from,
        address to,
        uint256 value,
        bytes32 nonce
    ) internal view returns (bytes memory) {
        bytes32 structHash = keccak256(abi.encode(RECEIVE_TYPEHASH, from, to, value, VALID_AFTER, VALID_BEFORE, nonce));
        return signFor(dollar, key, structHash);
    }

    function signTransfer(
        Dollar dollar,
        uint256 key,
        address from,
        address to,
        uint256 value,
        bytes32 nonce
    ) internal view returns (bytes memory) {
        bytes32 structHash = keccak256(
            abi.encode(TRANSFER_TYPEHASH, from, to, value, VALID_AFTER, VALID_BEFORE, nonce)
        );
        return signFor(dollar, key, structHash);
    }

    function signFor(Dollar dollar, uint256 key, bytes32 structHash) internal view returns (bytes memory) {
        bytes32 digest = keccak256(abi.encodePacked(hex"1901", dollar.DOMAIN_SEPARATOR(), structHash));
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, digest);
        return abi.encodePacked(r, s, v);
    }
}
