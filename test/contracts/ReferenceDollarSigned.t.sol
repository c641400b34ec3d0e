// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20Errors} from "@openzeppelin/contracts/interfaces/draft-IERC6093.sol";
import {ERC3009} from "@openzeppelin/contracts/token/ERC20/extensions/draft-ERC3009.sol";
import {ERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Permit.sol";

import {IReferenceDollar} from "../../contracts/interfaces/IReferenceDollar.sol";
import {PlainDelegate, Wallet1271} from "../../contracts/mocks/Wallet1271.sol";
import {DollarFixture} from "./support/DollarFixture.sol";

// the overloads that take bytes, beside OpenZeppelin's that take v, r and s
// ├── permit: by key, delegated key or wallet; not late, not twice, not by another
// ├── transferWithAuthorization: by key, delegated key or wallet; not twice, not by another
// ├── receiveWithAuthorization: the same, and only by the receiver
// ├── cancelAuthorization: the same, and then the authorization is of no use
// └── a signature for zero is nobody's
contract ReferenceDollarSignedTest is DollarFixture {
    bytes32 private constant NONCE = keccak256("a nonce");

    address private wallet;

    function setUp() public override {
        super.setUp();
        wallet = address(new Wallet1271(holder));
        vm.prank(holder);
        dollar.transfer(wallet, 400);
    }

    function testFuzz_permitsByKeyDelegatedKeyAndWallet(uint128 value, uint8 kind) public {
        address owner = kind % 3 == 2 ? wallet : holder;
        if (kind % 3 == 1) vm.etch(holder, address(new PlainDelegate()).code);
        bytes memory signature = permitOf(owner, value, block.timestamp, KEY);
        dollar.permit(owner, STRANGER, value, block.timestamp, signature);
        eq(dollar.allowance(owner, STRANGER), value, "allowed");
        eq(dollar.nonces(owner), 1, "the nonce is used");
        vm.expectRevert(abi.encodeWithSelector(IReferenceDollar.InvalidSignature.selector, owner));
        dollar.permit(owner, STRANGER, value, block.timestamp, signature);
    }

    function test_refusesALatePermit() public {
        uint256 deadline = block.timestamp;
        bytes memory signature = permitOf(holder, 5, deadline, KEY);
        vm.warp(deadline + 1);
        vm.expectRevert(abi.encodeWithSelector(ERC20Permit.ERC2612ExpiredSignature.selector, deadline));
        dollar.permit(holder, STRANGER, 5, deadline, signature);
    }

    function test_refusesAPermitForSomethingElse() public {
        bytes memory signature = permitOf(holder, 5, block.timestamp, KEY);
        bytes memory reason = abi.encodeWithSelector(IReferenceDollar.InvalidSignature.selector, holder);
        vm.expectRevert(reason);
        dollar.permit(holder, STRANGER, 6, block.timestamp, signature);
        vm.expectRevert(reason);
        dollar.permit(holder, ADMIN, 5, block.timestamp, signature);
        vm.expectRevert(reason);
        dollar.permit(holder, STRANGER, 5, block.timestamp + 1, signature);
        vm.expectRevert(abi.encodeWithSelector(IReferenceDollar.InvalidSignature.selector, STRANGER));
        dollar.permit(STRANGER, STRANGER, 5, block.timestamp, signature);
    }

    function testFuzz_transfersByKeyDelegatedKeyAndWallet(uint8 value, uint8 kind) public {
        (address from, bytes memory prefix) = kind % 3 == 2 ? (wallet, bytes("\x01")) : (holder, bytes(""));
        if (kind % 3 == 1) vm.etch(holder, address(new PlainDelegate()).code);
        bytes memory signature = abi.encodePacked(prefix, signTransfer(dollar, KEY, from, STRANGER, value, NONCE));
        dollar.transferWithAuthorization(from, STRANGER, value, VALID_AFTER, VALID_BEFORE, NONCE, signature);
        eq(dollar.balanceOf(STRANGER), value, "moved");
        yes(dollar.authorizationState(from, NONCE), "used");
        vm.expectRevert(abi.encodeWithSelector(ERC3009.ERC3009UsedAuthorization.selector, from, NONCE));
        dollar.transferWithAuthorization(from, STRANGER, value, VALID_AFTER, VALID_BEFORE, NONCE, signature);
    }

    function testFuzz_receivesByKeyAndWallet(uint8 value, bool byWallet) public {
        (address from, bytes memory prefix) = byWallet ? (wallet, bytes("\x01")) : (holder, bytes(""));
        bytes memory signature = abi.encodePacked(prefix, signReceive(dollar, KEY, from, STRANGER, value, NONCE));
        vm.expectRevert(abi.encodeWithSelector(IERC20Errors.ERC20InvalidReceiver.selector, STRANGER));
        dollar.receiveWithAuthorization(from, STRANGER, value, VALID_AFTER, VALID_BEFORE, NONCE, signature);
        vm.prank(STRANGER);
        dollar.receiveWithAuthorization(from, STRANGER, value, VALID_AFTER, VALID_BEFORE, NONCE, signature);
        eq(dollar.balanceOf(STRANGER), value, "moved");
    }

    function testFuzz_cancelsByKeyAndWallet(bool byWallet) public {
        (address from, bytes memory prefix) = byWallet ? (wallet, bytes("\x01")) : (holder, bytes(""));
        bytes32 structHash = keccak256(abi.encode(CANCEL_TYPEHASH, from, NONCE));
        bytes memory signature = abi.encodePacked(prefix, signFor(dollar, KEY, structHash));
        vm.expectRevert(abi.encodeWithSelector(IReferenceDollar.InvalidSignature.selector, from));
        dollar.cancelAuthorization(from, keccak256("another"), signature);
        dollar.cancelAuthorization(from, NONCE, signature);

        signature = abi.encodePacked(prefix, signTransfer(dollar, KEY, from, STRANGER, 5, NONCE));
        vm.expectRevert(abi.encodeWithSelector(ERC3009.ERC3009UsedAuthorization.selector, from, NONCE));
        dollar.transferWithAuthorization(from, STRANGER, 5, VALID_AFTER, VALID_BEFORE, NONCE, signature);
    }

    function test_refusesAnAuthorizationForSomethingElse() public {
        bytes memory signature = signTransfer(dollar, KEY, holder, STRANGER, 5, NONCE);
        bytes memory reason = abi.encodeWithSelector(IReferenceDollar.InvalidSignature.selector, holder);
        vm.expectRevert(reason);
        dollar.transferWithAuthorization(holder, ADMIN, 5, VALID_AFTER, VALID_BEFORE, NONCE, signature);
        vm.expectRevert(reason);
        dollar.transferWithAuthorization(holder, STRANGER, 6, VALID_AFTER, VALID_BEFORE, NONCE, signature);
        vm.expectRevert(reason);
        dollar.transferWithAuthorization(holder, STRANGER, 5, 0, VALID_BEFORE, NONCE, signature);
        vm.expectRevert(reason);
        dollar.transferWithAuthorization(holder, STRANGER, 5, VALID_AFTER, VALID_BEFORE + 1, NONCE, signature);
        vm.expectRevert(reason);
        vm.prank(STRANGER);
        dollar.receiveWithAuthorization(holder, STRANGER, 5, VALID_AFTER, VALID_BEFORE, NONCE, signature);
        vm.expectRevert(abi.encodeWithSelector(IReferenceDollar.InvalidSignature.selector, wallet));
        dollar.transferWithAuthorization(wallet, STRANGER, 5, VALID_AFTER, VALID_BEFORE, NONCE, signature);
    }

    function test_refusesAnAuthorizationTooEarlyAndTooLate() public {
        bytes memory signature = signTransfer(dollar, KEY, holder, STRANGER, 5, NONCE);
        uint256[2] memory times = [VALID_AFTER, VALID_BEFORE];
        for (uint256 i = 0; i < 2; ++i) {
            vm.warp(times[i]);
            vm.expectRevert(
                abi.encodeWithSelector(ERC3009.ERC3009InvalidAuthorizationTime.selector, VALID_AFTER, VALID_BEFORE)
            );
            dollar.transferWithAuthorization(holder, STRANGER, 5, VALID_AFTER, VALID_BEFORE, NONCE, signature);
        }
    }

    function test_stopsAFrozenSigner() public {
        freeze(holder);
        bytes memory signature = signTransfer(dollar, KEY, holder, STRANGER, 5, NONCE);
        vm.expectRevert(frozen(holder));
        dollar.transferWithAuthorization(holder, STRANGER, 5, VALID_AFTER, VALID_BEFORE, NONCE, signature);
    }

    function test_takesNoSignatureForZero() public {
        vm.expectRevert(abi.encodeWithSelector(IReferenceDollar.InvalidSignature.selector, address(0)));
        dollar.permit(address(0), STRANGER, 5, block.timestamp, new bytes(65));
    }

    function permitOf(
        address owner,
        uint256 value,
        uint256 deadline,
        uint256 key
    ) private view returns (bytes memory signature) {
        bytes32 structHash = keccak256(
            abi.encode(PERMIT_TYPEHASH, owner, STRANGER, value, dollar.nonces(owner), deadline)
        );
        signature = signFor(dollar, key, structHash);
        if (owner == wallet) signature = abi.encodePacked(bytes1(0x01), signature);
    }
}
