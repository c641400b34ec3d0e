// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20Errors} from "@openzeppelin/contracts/interfaces/draft-IERC6093.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

import {IReferenceDollar} from "../../contracts/interfaces/IReferenceDollar.sol";
import {DollarFixture} from "./support/DollarFixture.sol";

// mintWithMemo
// ├── when a minter has the allowance: mints, counts, logs Mint, Transfer and TransferWithMemo
// ├── when the memo was minted before, by any minter: refuses; when a holder used it: mints
// └── when the memo or the amount is zero, the allowance is short, or the receiver is zero: refuses
// burnWithMemo
// ├── when a holder has the money: burns it, counts it, logs Burn, Transfer and TransferWithMemo
// ├── when the holder used the memo before: refuses; when another did: burns
// └── when the memo or the amount is zero, or the balance short: refuses
// transferWithMemo: the same, from holder to holder
// transfer, transferFrom, approve: as any ERC-20, with 6 decimals
// the numbers: supply is minted less burnt, over minters that come and go
contract ReferenceDollarTest is DollarFixture {
    function testFuzz_mintsForAnOrderOnce(address to, uint120 amount, bytes32 memo) public {
        vm.assume(to != address(0) && to != holder && memo != 0 && memo != keccak256("what the holder has"));
        amount = uint120(between(amount, 1, 1_000_000 - HELD));

        vm.expectEmit(true, true, true, true, address(dollar));
        emit IReferenceDollar.Mint(MINTER, to, amount);
        vm.expectEmit(true, true, true, true, address(dollar));
        emit IERC20.Transfer(address(0), to, amount);
        expectTransferWithMemo(address(0), to, amount, memo);
        vm.prank(MINTER);
        dollar.mintWithMemo(to, amount, memo);

        eq(dollar.balanceOf(to), amount, "minted");
        eq(dollar.totalSupply(), HELD + amount, "counted");
        eq(dollar.minterAllowance(MINTER), 1_000_000 - HELD - amount, "the allowance shrank");
        yes(dollar.isMemoUsed(address(0), memo), "used for mints");
        no(dollar.isMemoUsed(to, memo), "not for the receiver");

        vm.prank(ADMIN);
        dollar.configureMinter(STRANGER, 1);
        vm.expectRevert(abi.encodeWithSelector(IReferenceDollar.MemoAlreadyUsed.selector, address(0), memo));
        vm.prank(STRANGER);
        dollar.mintWithMemo(to, 1, memo);
    }

    function test_refusesAWrongMint() public {
        refusesMint(abi.encodeWithSelector(IReferenceDollar.ZeroMemo.selector), MINTER, holder, 1, 0);
        refusesMint(abi.encodeWithSelector(IReferenceDollar.ZeroAmount.selector), MINTER, holder, 0, MEMO);
        bytes4 exceeded = IReferenceDollar.MinterAllowanceExceeded.selector;
        uint256 left = 1_000_000 - HELD;
        refusesMint(abi.encodeWithSelector(exceeded, MINTER, left, left + 1), MINTER, holder, left + 1, MEMO);
        refusesMint(abi.encodeWithSelector(exceeded, STRANGER, 0, 1), STRANGER, holder, 1, MEMO);
        uint256 huge = (1 << 120) + 1;
        refusesMint(abi.encodeWithSelector(exceeded, MINTER, left, huge), MINTER, holder, huge, MEMO);
        bytes memory reason = abi.encodeWithSelector(IERC20Errors.ERC20InvalidReceiver.selector, address(0));
        refusesMint(reason, MINTER, address(0), 1, MEMO);
        no(dollar.isMemoUsed(address(0), MEMO), "the memo is not used up");

        vm.prank(MINTER);
        dollar.mintWithMemo(holder, left, MEMO);
        eq(dollar.minterAllowance(MINTER), 0, "to the last unit");
    }

    function testFuzz_burnsForAnOrderOnce(uint16 amount, bytes32 memo) public {
        vm.assume(memo != 0 && memo != keccak256("what the holder has"));
        amount = uint16(between(amount, 1, HELD - 1));
        vm.expectEmit(true, true, true, true, address(dollar));
        emit IReferenceDollar.Burn(holder, amount);
        vm.expectEmit(true, true, true, true, address(dollar));
        emit IERC20.Transfer(holder, address(0), amount);
        expectTransferWithMemo(holder, address(0), amount, memo);
        vm.prank(holder);
        dollar.burnWithMemo(amount, memo);

        eq(dollar.balanceOf(holder), HELD - amount, "burnt");
        eq(dollar.totalSupply(), HELD - amount, "counted");
        eq(dollar.totalBurnt(), amount, "as burnt");
        eq(dollar.totalMinted(), HELD, "not as minted");
        yes(dollar.isMemoUsed(holder, memo), "used by the holder");
        no(dollar.isMemoUsed(address(0), memo), "not for mints");

        vm.expectRevert(abi.encodeWithSelector(IReferenceDollar.MemoAlreadyUsed.selector, holder, memo));
        vm.prank(holder);
        dollar.burnWithMemo(1, memo);
    }

    function test_refusesAWrongBurn() public {
        vm.startPrank(holder);
        vm.expectRevert(abi.encodeWithSelector(IReferenceDollar.ZeroMemo.selector));
        dollar.burnWithMemo(1, 0);
        vm.expectRevert(abi.encodeWithSelector(IReferenceDollar.ZeroAmount.selector));
        dollar.burnWithMemo(0, MEMO);
        vm.expectRevert(insufficient(holder, HELD, HELD + 1));
        dollar.burnWithMemo(HELD + 1, MEMO);
        dollar.burnWithMemo(HELD, MEMO);
        vm.stopPrank();
        eq(dollar.totalSupply(), 0, "to the last unit");
    }

    function testFuzz_transfersForAnOrderOnce(uint16 amount, bytes32 memo, address to) public {
        vm.assume(memo != 0 && to != address(0) && to != holder);
        amount = uint16(between(amount, 1, HELD - 1));
        vm.expectEmit(true, true, true, true, address(dollar));
        emit IERC20.Transfer(holder, to, amount);
        expectTransferWithMemo(holder, to, amount, memo);
        vm.prank(holder);
        dollar.transferWithMemo(to, amount, memo);
        eq(dollar.balanceOf(to), amount, "moved");
        eq(dollar.balanceOf(holder), HELD - amount, "from the holder");
        eq(dollar.totalSupply(), HELD, "none made, none lost");

        vm.expectRevert(abi.encodeWithSelector(IReferenceDollar.MemoAlreadyUsed.selector, holder, memo));
        vm.prank(holder);
        dollar.transferWithMemo(to, 1, memo);
    }

    function test_refusesAWrongTransfer() public {
        vm.startPrank(holder);
        vm.expectRevert(abi.encodeWithSelector(IReferenceDollar.ZeroMemo.selector));
        dollar.transferWithMemo(STRANGER, 1, 0);
        vm.expectRevert(abi.encodeWithSelector(IReferenceDollar.ZeroAmount.selector));
        dollar.transferWithMemo(STRANGER, 0, MEMO);
        vm.expectRevert(insufficient(holder, HELD, HELD + 1));
        dollar.transferWithMemo(STRANGER, HELD + 1, MEMO);
        vm.expectRevert(abi.encodeWithSelector(IERC20Errors.ERC20InvalidReceiver.selector, address(0)));
        dollar.transferWithMemo(address(0), 1, MEMO);
        vm.stopPrank();
    }

    function testFuzz_tellsMemosApart(bytes32 first, bytes32 second) public {
        vm.assume(first != second && first != 0 && second != 0);
        vm.startPrank(holder);
        dollar.transferWithMemo(STRANGER, 1, first);
        no(dollar.isMemoUsed(holder, second), "another memo");
        dollar.transferWithMemo(STRANGER, 1, second);
        vm.stopPrank();
        yes(dollar.isMemoUsed(holder, first) && dollar.isMemoUsed(holder, second), "both");
    }

    function testFuzz_tellsNeighbouringMemosApart(bytes31 block_, uint8 first, uint8 second) public {
        vm.assume(block_ != 0 && first != second);
        testFuzz_tellsMemosApart(bytes32(block_) | bytes32(uint256(first)), bytes32(block_) | bytes32(uint256(second)));
    }

    function test_letsOriginsShareAMemo() public {
        vm.prank(holder);
        dollar.transferWithMemo(STRANGER, 10, MEMO);
        vm.prank(STRANGER);
        dollar.burnWithMemo(4, MEMO);
        vm.prank(MINTER);
        dollar.mintWithMemo(STRANGER, 1, MEMO);
        eq(dollar.balanceOf(STRANGER), 7, "ten, less four, and one");
    }

    function testFuzz_movesMoneyAsAnyToken(uint16 amount, uint16 allowance) public {
        amount = uint16(between(amount, 0, HELD));
        vm.prank(holder);
        dollar.approve(STRANGER, allowance);
        if (amount > allowance) {
            vm.expectRevert(
                abi.encodeWithSelector(IERC20Errors.ERC20InsufficientAllowance.selector, STRANGER, allowance, amount)
            );
            vm.prank(STRANGER);
            dollar.transferFrom(holder, STRANGER, amount);
        } else {
            vm.prank(STRANGER);
            yes(dollar.transferFrom(holder, STRANGER, amount), "says so");
            eq(dollar.balanceOf(STRANGER), amount, "moved");
            eq(dollar.allowance(holder, STRANGER), allowance - amount, "and no more");
        }
    }

    function test_keepsTheSumWhenSomebodyPaysThemselves() public {
        vm.prank(holder);
        dollar.transfer(holder, HELD);
        eq(dollar.balanceOf(holder), HELD, "neither more nor less");
    }

    function test_countsOverMintersThatComeAndGo() public {
        vm.prank(ADMIN);
        dollar.configureMinter(STRANGER, 500);
        vm.prank(STRANGER);
        dollar.mintWithMemo(STRANGER, 300, MEMO);
        eq(dollar.totalSupply(), HELD + 300, "two minters");
        vm.prank(ADMIN);
        dollar.removeMinter(MINTER);
        eq(dollar.totalSupply(), HELD + 300, "one is gone, its money is not");
        vm.prank(ADMIN);
        dollar.configureMinter(MINTER, 50);
        vm.prank(MINTER);
        dollar.mintWithMemo(holder, 50, keccak256("after all"));
        eq(dollar.totalMinted(), HELD + 350, "it came back");
        vm.startPrank(ADMIN);
        dollar.removeMinter(STRANGER);
        dollar.removeMinter(MINTER);
        vm.stopPrank();
        eq(dollar.totalMinted(), HELD + 350, "all are gone");
        eq(dollar.minters().length, 0, "all");
    }

    function test_saysWhatItIs() public view {
        vm.assertEq(dollar.name(), "Reference Dollar", "name");
        vm.assertEq(dollar.symbol(), "RUSD", "symbol");
        eq(dollar.decimals(), 6, "decimals");
        vm.assertTrue(dollar.mintWithMemo.selector == bytes4(0xe44f0b12), "mintWithMemo as TIP-20 has it");
        vm.assertTrue(dollar.burnWithMemo.selector == bytes4(0x38f23b0b), "burnWithMemo as TIP-20 has it");
        vm.assertTrue(dollar.transferWithMemo.selector == bytes4(0x95777d59), "transferWithMemo as TIP-20 has it");
    }

    function refusesMint(bytes memory reason, address minter, address to, uint256 amount, bytes32 memo) private {
        vm.expectRevert(reason);
        vm.prank(minter);
        dollar.mintWithMemo(to, amount, memo);
    }

    function insufficient(address from, uint256 balance, uint256 needed) private pure returns (bytes memory) {
        return abi.encodeWithSelector(IERC20Errors.ERC20InsufficientBalance.selector, from, balance, needed);
    }
}
