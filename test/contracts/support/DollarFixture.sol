// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IReferenceDollar} from "../../../contracts/interfaces/IReferenceDollar.sol";
import {Dollar, DollarSigner} from "./Dollar.sol";

/// @dev A dollar with an admin, a minter, a pauser, a freezer and a holder.
abstract contract DollarFixture is DollarSigner {
    address internal constant ADMIN = address(0x4000000000000000000000000000000000000001);
    address internal constant MINTER = address(0x4000000000000000000000000000000000000002);
    address internal constant PAUSER = address(0x4000000000000000000000000000000000000003);
    address internal constant FREEZER = address(0x4000000000000000000000000000000000000004);
    address internal constant STRANGER = address(0x4000000000000000000000000000000000000005);
    uint256 internal constant KEY = 0xa11ce;
    uint256 internal constant HELD = 1000;
    bytes32 internal constant MEMO = keccak256("an order");

    Dollar internal dollar;
    address internal holder;

    function setUp() public virtual {
        vm.warp(1_800_000_000);
        holder = vm.addr(KEY);
        dollar = Dollar(deployed("ReferenceDollar.sol:ReferenceDollar", abi.encode(ADMIN)));
        bytes32 pauserRole = dollar.PAUSER_ROLE();
        bytes32 freezerRole = dollar.FREEZER_ROLE();
        vm.startPrank(ADMIN);
        dollar.configureMinter(MINTER, 1_000_000);
        dollar.grantRole(pauserRole, PAUSER);
        dollar.grantRole(freezerRole, FREEZER);
        vm.stopPrank();
        vm.prank(MINTER);
        dollar.mintWithMemo(holder, HELD, keccak256("what the holder has"));
    }

    function expectTransferWithMemo(address from, address to, uint256 amount, bytes32 memo) internal {
        vm.expectEmit(true, true, true, true, address(dollar));
        emit IReferenceDollar.TransferWithMemo(from, to, amount, memo);
    }

    function frozen(address account) internal pure returns (bytes memory) {
        return abi.encodeWithSelector(IReferenceDollar.AccountFrozen.selector, account);
    }

    function freeze(address account) internal {
        vm.prank(FREEZER);
        dollar.freeze(account);
    }
}
