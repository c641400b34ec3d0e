// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Dollar} from "./support/Dollar.sol";
import {DollarHandler} from "./support/DollarHandler.sol";
import {Test} from "./support/Test.sol";

// whatever is called, in whatever order, well or badly
// ├── supply is minted less burnt, and the sum of all balances
// ├── a balance changes only by what its holder, a minter or a sender does
// ├── no minter mints more than it may, and a frozen one nothing
// ├── no memo is used twice by one origin, and is marked exactly when it was used
// ├── nothing moves while paused
// └── calls succeed when they should and fail when they should
contract ReferenceDollarInvariantTest is Test {
    Dollar private dollar;
    DollarHandler private handler;

    function setUp() public {
        dollar = Dollar(deployed("ReferenceDollar.sol:ReferenceDollar", abi.encode(address(this))));
        handler = new DollarHandler(dollar);
        dollar.grantRole(dollar.PAUSER_ROLE(), address(handler));
        dollar.grantRole(dollar.FREEZER_ROLE(), address(handler));
        dollar.beginDefaultAdminTransfer(address(handler));
        vm.warp(block.timestamp + 2 days);
        vm.prank(address(handler));
        dollar.acceptDefaultAdminTransfer();
        target(address(handler));
    }

    function invariant_suppliesWhatWasMintedLessBurnt() public view {
        eq(dollar.totalSupply(), handler.minted() - handler.burnt(), "supply");
    }

    function invariant_countsMintsAndBurnsForEver() public view {
        eq(dollar.totalMinted(), handler.minted(), "minted");
        eq(dollar.totalBurnt(), handler.burnt(), "burnt");
    }

    function invariant_suppliesTheSumOfAllBalances() public view {
        uint256 sum = 0;
        for (uint256 i = 0; i < handler.ACTORS(); ++i) sum += dollar.balanceOf(handler.actor(i));
        eq(sum, dollar.totalSupply(), "sum");
    }

    function invariant_changesNoBalanceUnasked() public view {
        for (uint256 i = 0; i < handler.ACTORS(); ++i) {
            eq(dollar.balanceOf(handler.actor(i)), handler.balances(handler.actor(i)), "balance");
        }
    }

    function invariant_keepsMintersWithinTheirAllowance() public view {
        for (uint256 i = 0; i < handler.ACTORS(); ++i) {
            address minter = handler.actor(i);
            eq(dollar.minterAllowance(minter), handler.allowances(minter), "allowance");
            if (dollar.isFrozen(minter)) eq(dollar.minterAllowance(minter), 0, "frozen");
        }
    }

    function invariant_listsEveryMinterOnce() public view {
        address[] memory minters = dollar.minters();
        uint256 expected = 0;
        for (uint256 i = 0; i < handler.ACTORS(); ++i) {
            uint256 found = 0;
            for (uint256 k = 0; k < minters.length; ++k) if (minters[k] == handler.actor(i)) ++found;
            eq(found, handler.listed(handler.actor(i)) ? 1 : 0, "listed");
            expected += found;
        }
        eq(minters.length, expected, "nobody else");
    }

    function invariant_usesNoMemoTwice() public view {
        for (uint256 i = 0; i <= handler.ACTORS(); ++i) {
            address from = i == handler.ACTORS() ? address(0) : handler.actor(i);
            for (uint256 k = 0; k < handler.MEMOS(); ++k) {
                bytes32 memo = handler.memoOf(k);
                uint256 uses = handler.uses(from, memo);
                yes(uses <= 1, "once");
                vm.assertTrue(dollar.isMemoUsed(from, memo) == (uses == 1), "marked");
            }
        }
    }

    function invariant_movesNothingWhilePaused() public view {
        eq(handler.movesWhilePaused(), 0, "still");
        vm.assertTrue(dollar.paused() == handler.isPaused(), "paused");
    }

    function invariant_freezesWhomItWasToldTo() public view {
        for (uint256 i = 0; i < handler.ACTORS(); ++i) {
            address account = handler.actor(i);
            vm.assertTrue(dollar.isFrozen(account) == handler.frozen(account), "frozen");
        }
    }

    function invariant_succeedsAndFailsAsItShould() public view {
        eq(handler.surprises(), 0, "no surprises");
    }

    function test_isTriedByCallsThatMove() public {
        handler.configureMinter(0, 100);
        handler.mint(0, 1, 50, 1);
        handler.transfer(1, 2, 20, 1, true);
        handler.transfer(1, 2, 20, 1, false);
        handler.burn(2, 10, 1);
        eq(handler.moves(), 4, "a mint, two transfers and a burn");
        handler.freeze(2);
        handler.burn(2, 5, 2);
        handler.unfreeze(2);
        handler.pause(4);
        handler.burn(2, 5, 2);
        eq(handler.moves(), 4, "stopped twice");
        handler.pause(4);
        handler.burn(2, 5, 2);
        eq(handler.moves(), 5, "and free again");
        eq(handler.surprises(), 0, "as it should");
    }
}
