// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";

/// @notice A wallet whose signatures are those of its owner behind a byte of their own, so that they have no ECDSA
/// length.
contract Wallet1271 is IERC1271 {
    address private immutable OWNER;

    constructor(address owner) {
        OWNER = owner;
    }

    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        if (signature.length != 66) return 0xffffffff;
        (address recovered, , ) = ECDSA.tryRecoverCalldata(hash, signature[1:]);
        return recovered == OWNER ? IERC1271.isValidSignature.selector : bytes4(0xffffffff);
    }
}

/// @notice Code to delegate a key to (EIP-7702) that knows nothing of ERC-1271.
contract PlainDelegate {
    receive() external payable {}
}
