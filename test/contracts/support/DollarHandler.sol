// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Dollar} from "./Dollar.sol";
import {Test} from "./Test.sol";

/// @dev Mints, burns, moves, freezes and pauses as it comes, and keeps its own books. The memos are so few that they
/// meet, and lie in two words.
contract DollarHandler is Test {
    uint256 public constant ACTORS = 5;
    uint256 public constant MEMOS = 24;

    Dollar public immutable dollar;

    mapping(address from => mapping(bytes32 memo => uint256)) public uses;
    mapping(address minter => uint256) public allowances;
    mapping(address minter => bool) public listed;
    mapping(address account => uint256) public balances;
    mapping(address account => bool) public frozen;
    uint256 public minted;
    uint256 public burnt;
    uint256 public moves;
    uint256 public movesWhilePaused;
    uint256 public surprises;
    bool public isPaused;

    constructor(Dollar dollar_) {
        dollar = dollar_;
    }

    function configureMinter(uint256 who, uint96 allowance) external {
        address minter = actor(who);
        try dollar.configureMinter(minter, allowance) {
            allowances[minter] = allowance;
            listed[minter] = true;
        } catch {
            if (!frozen[minter]) ++surprises;
        }
    }

    function removeMinter(uint256 who) external {
        address minter = actor(who);
        try dollar.removeMinter(minter) {
            (allowances[minter], listed[minter]) = (0, false);
        } catch {
            if (listed[minter]) ++surprises;
        }
    }

    function mint(uint256 who, uint256 to, uint96 amount, uint256 which) external {
        (address minter, address receiver, bytes32 memo) = (actor(who), actor(to), memoOf(which));
        amount = uint96(between(amount, 0, allowances[minter] + 1));
        vm.prank(minter);
        try dollar.mintWithMemo(receiver, amount, memo) {
            note(address(0), receiver, amount, memo);
            allowances[minter] -= amount;
            minted += amount;
        } catch {
            bool mustFail = isPaused || frozen[receiver] || uses[address(0)][memo] != 0;
            if (!mustFail && amount != 0 && amount <= allowances[minter]) ++surprises;
        }
    }

    function burn(uint256 who, uint96 amount, uint256 which) external {
        (address from, bytes32 memo) = (actor(who), memoOf(which));
        amount = uint96(between(amount, 0, balances[from] + 1));
        vm.prank(from);
        try dollar.burnWithMemo(amount, memo) {
            note(from, address(0), amount, memo);
            burnt += amount;
        } catch {
            bool mustFail = isPaused || frozen[from] || uses[from][memo] != 0;
            if (!mustFail && amount != 0 && amount <= balances[from]) ++surprises;
        }
    }

    function transfer(uint256 who, uint256 to, uint96 amount, uint256 which, bool withMemo) external {
        (address from, address receiver, bytes32 memo) = (actor(who), actor(to), memoOf(which));
        amount = uint96(between(amount, 0, balances[from] + 1));
        vm.prank(from);
        (bool success, ) = address(dollar).call(
            withMemo
                ? abi.encodeCall(dollar.transferWithMemo, (receiver, amount, memo))
                : abi.encodeCall(dollar.transfer, (receiver, amount))
        );
        bool mustFail = isPaused || frozen[from] || frozen[receiver] || amount > balances[from];
        if (withMemo) mustFail = mustFail || amount == 0 || uses[from][memo] != 0;
        if (success == mustFail) ++surprises;
        if (!success) return;
        note(from, receiver, amount, withMemo ? memo : bytes32(0));
    }

    function freeze(uint256 who) external {
        address account = actor(who);
        try dollar.freeze(account) {
            frozen[account] = true;
            allowances[account] = 0;
        } catch {
            if (!frozen[account]) ++surprises;
        }
    }

    function unfreeze(uint256 who) external {
        address account = actor(who);
        try dollar.unfreeze(account) {
            frozen[account] = false;
        } catch {
            if (frozen[account]) ++surprises;
        }
    }

    function pause(uint8 chance) external {
        if (isPaused) {
            dollar.unpause();
            isPaused = false;
        } else if (chance % 4 == 0) {
            dollar.pause();
            isPaused = true;
        }
    }

    function actor(uint256 who) public pure returns (address) {
        return address(uint160(0x9000000000000000000000000000000000000000) + uint160(who % ACTORS));
    }

    function memoOf(uint256 which) public pure returns (bytes32) {
        return bytes32(244 + (which % MEMOS));
    }

    function note(address from, address to, uint256 amount, bytes32 memo) private {
        if (memo != 0) ++uses[from][memo];
        if (from != address(0)) balances[from] -= amount;
        if (to != address(0)) balances[to] += amount;
        ++moves;
        if (isPaused) ++movesWhilePaused;
    }
}
