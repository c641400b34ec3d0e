// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IAccessControl} from "@openzeppelin/contracts/access/IAccessControl.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";

import {IReferenceDollar} from "../../contracts/interfaces/IReferenceDollar.sol";
import {DollarFixture} from "./support/DollarFixture.sol";

// minters
// ├── the admin configures, changes and removes them; nobody else
// ├── zero, frozen and too many are refused; unknown ones cannot be removed; a huge allowance is refused
// └── the list is right whichever leaves
// freeze
// ├── a frozen account neither sends, receives, spends for others, mints nor burns; its money stays
// ├── a frozen minter loses its allowance and does not get it back
// └── only a freezer freezes and unfreezes, and not twice
// pause: stops mints, burns and transfers until it is lifted; only a pauser pauses and lifts
// the admin: waits a day before a successor takes over, and holds no other role
contract ReferenceDollarRolesTest is DollarFixture {
    function test_letsTheAdminConfigureMinters() public {
        vm.expectEmit(true, true, true, true, address(dollar));
        emit IReferenceDollar.MinterConfigured(STRANGER, 7);
        vm.prank(ADMIN);
        dollar.configureMinter(STRANGER, 7);
        eq(dollar.minterAllowance(STRANGER), 7, "set");
        vm.prank(ADMIN);
        dollar.configureMinter(STRANGER, 3);
        eq(dollar.minterAllowance(STRANGER), 3, "set, not added");
        eq(dollar.minters().length, 2, "listed once");

        vm.expectEmit(true, true, true, true, address(dollar));
        emit IReferenceDollar.MinterRemoved(STRANGER);
        vm.prank(ADMIN);
        dollar.removeMinter(STRANGER);
        eq(dollar.minterAllowance(STRANGER), 0, "may mint no more");
        eq(dollar.minters().length, 1, "not listed");
    }

    function testFuzz_keepsTheListRightWhicheverLeaves(uint8 leaver) public {
        address[4] memory names = [MINTER, address(0x11), address(0x12), address(0x13)];
        vm.startPrank(ADMIN);
        for (uint256 i = 1; i < 4; ++i) dollar.configureMinter(names[i], i);
        address gone = names[leaver % 4];
        dollar.removeMinter(gone);
        eq(dollar.minters().length, 3, "three are left");
        for (uint256 i = 0; i < 4; ++i) {
            bool listed = false;
            for (uint256 k = 0; k < 3; ++k) listed = listed || dollar.minters()[k] == names[i];
            vm.assertTrue(listed == (names[i] != gone), "listed or gone");
        }
        for (uint256 i = 0; i < 4; ++i) if (names[i] != gone) dollar.removeMinter(names[i]);
        vm.stopPrank();
        eq(dollar.minters().length, 0, "none is left");
    }

    function test_refusesWrongMinters() public {
        freeze(STRANGER);
        vm.startPrank(ADMIN);
        vm.expectRevert(abi.encodeWithSelector(IReferenceDollar.InvalidMinter.selector, address(0)));
        dollar.configureMinter(address(0), 1);
        vm.expectRevert(abi.encodeWithSelector(IReferenceDollar.InvalidMinter.selector, STRANGER));
        dollar.configureMinter(STRANGER, 1);
        vm.expectRevert(abi.encodeWithSelector(IReferenceDollar.UnknownMinter.selector, STRANGER));
        dollar.removeMinter(STRANGER);
        uint256 huge = uint256(type(uint120).max) + 1;
        vm.expectRevert(abi.encodeWithSelector(SafeCast.SafeCastOverflowedUintDowncast.selector, 120, huge));
        dollar.configureMinter(MINTER, huge);

        for (uint256 i = 1; i < 16; ++i) dollar.configureMinter(address(uint160(0x100 + i)), 1);
        vm.expectRevert(abi.encodeWithSelector(IReferenceDollar.TooManyMinters.selector, 16));
        dollar.configureMinter(address(0x200), 1);
        dollar.configureMinter(MINTER, 2);
        vm.stopPrank();
        eq(dollar.minters().length, dollar.MAX_MINTERS(), "as many as there can be");
    }

    function test_refusesMoreThanItCanCount() public {
        vm.prank(ADMIN);
        dollar.configureMinter(MINTER, type(uint120).max);
        vm.expectRevert(abi.encodeWithSignature("Panic(uint256)", uint256(0x11)));
        vm.prank(MINTER);
        dollar.mintWithMemo(holder, type(uint120).max, MEMO);
    }

    function testFuzz_refusesAnybodyWithoutTheRole(address who) public {
        vm.assume(who != ADMIN && who != PAUSER && who != FREEZER);
        bytes32 admin = bytes32(0);
        refusesRole(who, admin, abi.encodeCall(IReferenceDollar.configureMinter, (who, 1)));
        refusesRole(who, admin, abi.encodeCall(IReferenceDollar.removeMinter, (MINTER)));
        refusesRole(who, dollar.FREEZER_ROLE(), abi.encodeCall(IReferenceDollar.freeze, (holder)));
        refusesRole(who, dollar.FREEZER_ROLE(), abi.encodeCall(IReferenceDollar.unfreeze, (holder)));
        refusesRole(who, dollar.PAUSER_ROLE(), abi.encodeCall(IReferenceDollar.pause, ()));
        refusesRole(who, dollar.PAUSER_ROLE(), abi.encodeCall(IReferenceDollar.unpause, ()));
    }

    function test_keepsRolesApart() public {
        refusesRole(ADMIN, dollar.FREEZER_ROLE(), abi.encodeCall(IReferenceDollar.freeze, (holder)));
        refusesRole(ADMIN, dollar.PAUSER_ROLE(), abi.encodeCall(IReferenceDollar.pause, ()));
        refusesRole(PAUSER, dollar.FREEZER_ROLE(), abi.encodeCall(IReferenceDollar.freeze, (holder)));
        refusesRole(FREEZER, dollar.PAUSER_ROLE(), abi.encodeCall(IReferenceDollar.pause, ()));
        refusesRole(FREEZER, bytes32(0), abi.encodeCall(IReferenceDollar.configureMinter, (holder, 1)));
    }

    function test_stopsAFrozenAccount() public {
        vm.prank(holder);
        dollar.approve(STRANGER, 10);
        vm.expectEmit(true, true, true, true, address(dollar));
        emit IReferenceDollar.Frozen(holder);
        freeze(holder);
        yes(dollar.isFrozen(holder), "frozen");
        eq(dollar.balanceOf(holder), HELD, "its money stays");
        eq(dollar.totalSupply(), HELD, "all of it");

        bytes memory reason = frozen(holder);
        refuses(reason, holder, abi.encodeWithSelector(dollar.transfer.selector, STRANGER, 1));
        refuses(reason, holder, abi.encodeWithSelector(dollar.transferWithMemo.selector, STRANGER, 1, MEMO));
        refuses(reason, holder, abi.encodeWithSelector(dollar.burnWithMemo.selector, 1, MEMO));
        refuses(reason, STRANGER, abi.encodeWithSelector(dollar.transferFrom.selector, holder, STRANGER, 1));
        refuses(reason, MINTER, abi.encodeWithSelector(dollar.mintWithMemo.selector, holder, 1, MEMO));

        vm.expectEmit(true, true, true, true, address(dollar));
        emit IReferenceDollar.Unfrozen(holder);
        vm.prank(FREEZER);
        dollar.unfreeze(holder);
        vm.prank(holder);
        dollar.transfer(STRANGER, HELD);
        eq(dollar.balanceOf(STRANGER), HELD, "free again");
        no(dollar.isFrozen(holder), "not frozen");
    }

    function test_stopsAFrozenReceiverAndAFrozenSpender() public {
        vm.prank(holder);
        dollar.approve(STRANGER, 10);
        freeze(STRANGER);
        refuses(frozen(STRANGER), holder, abi.encodeWithSelector(dollar.transfer.selector, STRANGER, 1));
        refuses(frozen(STRANGER), STRANGER, abi.encodeWithSelector(dollar.transferFrom.selector, holder, ADMIN, 1));
    }

    function test_takesTheAllowanceOfAFrozenMinter() public {
        vm.expectEmit(true, true, true, true, address(dollar));
        emit IReferenceDollar.MinterConfigured(MINTER, 0);
        freeze(MINTER);
        eq(dollar.minterAllowance(MINTER), 0, "taken");
        vm.prank(FREEZER);
        dollar.unfreeze(MINTER);
        eq(dollar.minterAllowance(MINTER), 0, "and not given back");
        eq(dollar.totalSupply(), HELD, "what it minted counts");
    }

    function test_doesNotFreezeTwice() public {
        bytes4 unchanged = IReferenceDollar.FreezeUnchanged.selector;
        vm.startPrank(FREEZER);
        vm.expectRevert(abi.encodeWithSelector(unchanged, holder, false));
        dollar.unfreeze(holder);
        dollar.freeze(holder);
        vm.expectRevert(abi.encodeWithSelector(unchanged, holder, true));
        dollar.freeze(holder);
        vm.stopPrank();
    }

    function test_stopsEverythingWhilePaused() public {
        vm.prank(holder);
        dollar.approve(STRANGER, 10);
        vm.prank(PAUSER);
        dollar.pause();
        yes(dollar.paused(), "paused");
        bytes memory reason = abi.encodeWithSelector(Pausable.EnforcedPause.selector);
        refuses(reason, holder, abi.encodeWithSelector(dollar.transfer.selector, STRANGER, 1));
        refuses(reason, holder, abi.encodeWithSelector(dollar.transferWithMemo.selector, STRANGER, 1, MEMO));
        refuses(reason, holder, abi.encodeWithSelector(dollar.burnWithMemo.selector, 1, MEMO));
        refuses(reason, STRANGER, abi.encodeWithSelector(dollar.transferFrom.selector, holder, STRANGER, 1));
        refuses(reason, MINTER, abi.encodeWithSelector(dollar.mintWithMemo.selector, holder, 1, MEMO));
        vm.prank(PAUSER);
        dollar.unpause();
        vm.prank(holder);
        dollar.transfer(STRANGER, 1);
        eq(dollar.balanceOf(STRANGER), 1, "moving again");
        eq(dollar.totalSupply(), HELD, "the totals beside the pause are as they were");
    }

    function test_makesASuccessorWaitADay() public {
        vm.assertEq(dollar.defaultAdmin(), ADMIN, "the admin");
        vm.prank(ADMIN);
        dollar.beginDefaultAdminTransfer(STRANGER);
        vm.expectRevert();
        vm.prank(STRANGER);
        dollar.acceptDefaultAdminTransfer();
        vm.warp(block.timestamp + 1 days + 1);
        vm.prank(STRANGER);
        dollar.acceptDefaultAdminTransfer();
        vm.assertEq(dollar.defaultAdmin(), STRANGER, "the successor");
        no(dollar.hasRole(dollar.PAUSER_ROLE(), ADMIN), "no other role");
    }

    function refusesRole(address who, bytes32 role, bytes memory data) private {
        refuses(abi.encodeWithSelector(IAccessControl.AccessControlUnauthorizedAccount.selector, who, role), who, data);
    }

    function refuses(bytes memory reason, address who, bytes memory data) private {
        vm.prank(who);
        (bool success, bytes memory answer) = address(dollar).call(data);
        no(success, "refused");
        vm.assertEq(keccak256(answer), keccak256(reason), "for the right reason");
    }
}
