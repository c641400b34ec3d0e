// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Permit.sol";
import {ERC3009} from "@openzeppelin/contracts/token/ERC20/extensions/draft-ERC3009.sol";

import {IReferenceDollar} from "../../contracts/interfaces/IReferenceDollar.sol";
import {ISettlement} from "../../contracts/interfaces/ISettlement.sol";
import {EmptyHandedToken, ForgingToken, MuteToken, OpenToken} from "../../contracts/mocks/HostileTokens.sol";
import {PlainDelegate, Wallet1271} from "../../contracts/mocks/Wallet1271.sol";
import {Dollar, DollarSigner} from "./support/Dollar.sol";
import {SettlementFixture} from "./support/SettlementFixture.sol";

// settleWithPermit
// ├── when the permit is good: pays without an approval
// ├── when somebody used the permit before: pays, since the allowance is there
// ├── when the permit is bad and the allowance is enough: pays; and it is not: says that the permit was refused
// ├── when the token knows no permits: the same
// └── when the token does not say what the allowance is: refuses the token
// settleWithAuthorization
// ├── when the payer signed it, by key, with or without code, or by wallet: pays, whoever submits it
// ├── when it is submitted again: refuses
// ├── when reference, token, payee or amount differ from what was signed: refuses
// ├── when the order is wrong: refuses
// ├── when the time is not right: refuses
// └── when the token
//     ├── forges a domain and takes any signature: burns no reference of a stranger
//     ├── does not deliver, to the contract or to the payee: refuses
//     └── has no ERC-3009 or no code: refuses
contract SettlementAuthorizedTest is SettlementFixture, DollarSigner {
    uint256 private constant KEY = 0xa11ce;

    Dollar private dollar;
    address private payer;

    function setUp() public override {
        super.setUp();
        payer = vm.addr(KEY);
        dollar = Dollar(deployed("ReferenceDollar.sol:ReferenceDollar", abi.encode(address(this))));
        IReferenceDollar(address(dollar)).configureMinter(address(this), type(uint120).max);
        IReferenceDollar(address(dollar)).mintWithMemo(payer, 1000, REFERENCE);
    }

    function testFuzz_paysWithAPermit(bytes32 orderReference, uint16 amount) public {
        vm.assume(orderReference != 0);
        amount = uint16(between(amount, 1, 1000));
        ISettlement.Permit memory permit = permitOf(amount);
        expectSettled(orderReference, payer, PAYEE, address(dollar), amount);
        vm.prank(payer);
        settlement.settleWithPermit(orderReference, address(dollar), PAYEE, amount, permit);
        eq(dollar.balanceOf(PAYEE), amount, "paid");
        eq(dollar.allowance(payer, address(settlement)), 0, "no allowance is left");

        vm.expectRevert(abi.encodeWithSelector(ISettlement.AlreadySettled.selector, payer, orderReference));
        vm.prank(payer);
        settlement.settleWithPermit(orderReference, address(dollar), PAYEE, amount, permit);
    }

    function test_paysThoughSomebodyUsedThePermitBefore() public {
        ISettlement.Permit memory permit = permitOf(5);
        vm.prank(STRANGER);
        dollar.permit(payer, address(settlement), 5, permit.deadline, permit.v, permit.r, permit.s);
        vm.prank(payer);
        settlement.settleWithPermit(REFERENCE, address(dollar), PAYEE, 5, permit);
        eq(dollar.balanceOf(PAYEE), 5, "paid");
    }

    function testFuzz_saysThatAPermitWasRefusedUnlessTheAllowanceIsEnough(uint16 amount, uint8 kind) public {
        amount = uint16(between(amount, 1, 1000));
        uint16 allowance = [0, amount - 1, amount, amount + 1][kind % 4];
        ISettlement.Permit memory permit = permitOf(amount);
        permit.v ^= 1;
        vm.prank(payer);
        dollar.approve(address(settlement), allowance);
        if (allowance < amount) expectPermitRefused(address(dollar), payer, allowance, amount);
        vm.prank(payer);
        settlement.settleWithPermit(REFERENCE, address(dollar), PAYEE, amount, permit);
        eq(dollar.balanceOf(PAYEE), allowance < amount ? 0 : amount, "paid");
    }

    function test_paysFromTheAllowanceOfATokenWithoutPermits() public {
        OpenToken token = new OpenToken();
        token.mint(PAYER, 5);
        vm.prank(PAYER);
        token.approve(address(settlement), 4);
        expectPermitRefused(address(token), PAYER, 4, 5);
        vm.prank(PAYER);
        settlement.settleWithPermit(REFERENCE, address(token), PAYEE, 5, ISettlement.Permit(0, 0, 0, 0));

        vm.prank(PAYER);
        token.approve(address(settlement), 5);
        vm.prank(PAYER);
        settlement.settleWithPermit(REFERENCE, address(token), PAYEE, 5, ISettlement.Permit(0, 0, 0, 0));
        eq(token.balanceOf(PAYEE), 5, "paid");
    }

    function test_refusesATokenThatDoesNotSayWhatTheAllowanceIs() public {
        MuteToken mute = new MuteToken();
        mute.mint(PAYER, 5);
        for (uint256 i = 0; i < 2; ++i) {
            mute.setRefuses(i == 1);
            vm.expectRevert(abi.encodeWithSelector(ISettlement.InvalidToken.selector, address(mute)));
            vm.prank(PAYER);
            settlement.settleWithPermit(REFERENCE, address(mute), PAYEE, 5, ISettlement.Permit(0, 0, 0, 0));
        }
    }

    function testFuzz_paysWithAnAuthorizationOnce(bytes32 orderReference, uint16 amount) public {
        vm.assume(orderReference != 0);
        amount = uint16(between(amount, 1, 500));
        bytes memory signature = authorized(orderReference, address(dollar), PAYEE, amount, KEY);
        expectSettled(orderReference, payer, PAYEE, address(dollar), amount);
        submit(orderReference, address(dollar), PAYEE, amount, payer, signature);
        eq(dollar.balanceOf(PAYEE), amount, "paid");
        eq(dollar.balanceOf(address(settlement)), 0, "nothing stays");
        yes(settlement.isSettled(payer, orderReference), "under the payer");
        no(settlement.isSettled(STRANGER, orderReference), "not under the submitter");
        vm.deal(payer, 1);
        vm.expectRevert(abi.encodeWithSelector(ISettlement.AlreadySettled.selector, payer, orderReference));
        vm.prank(payer);
        settlement.settle{value: 1}(orderReference, PAYEE);
    }

    function test_refusesAnAuthorizationThatWasSubmittedBefore() public {
        bytes memory signature = authorized(REFERENCE, address(dollar), PAYEE, 5, KEY);
        submit(REFERENCE, address(dollar), PAYEE, 5, payer, signature);
        vm.expectRevert(abi.encodeWithSelector(ISettlement.AlreadySettled.selector, payer, REFERENCE));
        submit(REFERENCE, address(dollar), PAYEE, 5, payer, signature);
    }

    function test_refusesAnAuthorizationForSomethingElse() public {
        bytes memory signature = authorized(REFERENCE, address(dollar), PAYEE, 5, KEY);
        refusesSigner(keccak256("other"), address(dollar), PAYEE, 5, payer, signature);
        refusesSigner(REFERENCE, address(dollar), STRANGER, 5, payer, signature);
        refusesSigner(REFERENCE, address(dollar), PAYEE, 6, payer, signature);
        refusesSigner(REFERENCE, address(dollar), PAYEE, 5, STRANGER, signature);
        Dollar other = Dollar(deployed("ReferenceDollar.sol:ReferenceDollar", abi.encode(address(this))));
        refusesSigner(REFERENCE, address(other), PAYEE, 5, payer, signature);
    }

    function test_paysByTheKeyOfADelegatedAccount() public {
        vm.etch(payer, address(new PlainDelegate()).code);
        submit(REFERENCE, address(dollar), PAYEE, 5, payer, authorized(REFERENCE, address(dollar), PAYEE, 5, KEY));
        eq(dollar.balanceOf(PAYEE), 5, "paid");
    }

    function test_paysByTheSignatureOfAWallet() public {
        address wallet = address(new Wallet1271(payer));
        vm.prank(payer);
        dollar.transfer(wallet, 9);
        bytes memory byOwner = signReceive(dollar, KEY, wallet, address(settlement), 9, nonceOf(REFERENCE));
        submit(REFERENCE, address(dollar), PAYEE, 9, wallet, abi.encodePacked(bytes1(0x01), byOwner));
        eq(dollar.balanceOf(PAYEE), 9, "paid");
        yes(settlement.isSettled(wallet, REFERENCE), "under the wallet");
    }

    function test_bindsChainContractReferenceTokenAndPayee() public {
        bytes32 nonce = settlement.authorizationNonce(REFERENCE, address(dollar), PAYEE);
        bytes32 expected = keccak256(abi.encode(block.chainid, address(settlement), REFERENCE, address(dollar), PAYEE));
        vm.assertEq(nonce, expected, "the nonce");
        vm.chainId(block.chainid + 1);
        no(settlement.authorizationNonce(REFERENCE, address(dollar), PAYEE) == nonce, "another chain");
    }

    function test_refusesAWrongOrder() public {
        bytes memory signature = authorized(REFERENCE, address(dollar), address(settlement), 5, KEY);
        vm.expectRevert(abi.encodeWithSelector(ISettlement.InvalidPayee.selector, REFERENCE, settlement));
        submit(REFERENCE, address(dollar), address(settlement), 5, payer, signature);
        signature = authorized(0, address(dollar), PAYEE, 5, KEY);
        vm.expectRevert(abi.encodeWithSelector(ISettlement.ZeroReference.selector));
        submit(0, address(dollar), PAYEE, 5, payer, signature);
    }

    function test_passesOnThatTheTimeIsNotRight() public {
        bytes memory signature = authorized(REFERENCE, address(dollar), PAYEE, 5, KEY);
        vm.warp(VALID_BEFORE);
        vm.expectRevert(
            abi.encodeWithSelector(ERC3009.ERC3009InvalidAuthorizationTime.selector, VALID_AFTER, VALID_BEFORE)
        );
        submit(REFERENCE, address(dollar), PAYEE, 5, payer, signature);
        no(settlement.isSettled(payer, REFERENCE), "unsettled");
    }

    function test_letsNoTokenBurnTheReferenceOfAStranger() public {
        ForgingToken forging = new ForgingToken(dollar.DOMAIN_SEPARATOR());
        bytes memory signature = authorized(REFERENCE, address(dollar), PAYEE, 5, KEY);
        refusesSigner(REFERENCE, address(forging), PAYEE, 5, payer, signature);
        no(settlement.isSettled(payer, REFERENCE), "still the payer's to use");
    }

    function test_refusesATokenThatDoesNotDeliver() public {
        EmptyHandedToken token = new EmptyHandedToken();
        bytes32 nonce = settlement.authorizationNonce(REFERENCE, address(token), PAYEE);
        bytes memory signature = signReceive(Dollar(address(token)), KEY, payer, address(settlement), 5, nonce);
        vm.expectRevert(
            abi.encodeWithSelector(ISettlement.WrongDelivery.selector, address(token), address(settlement), 5, 0)
        );
        submit(REFERENCE, address(token), PAYEE, 5, payer, signature);

        token.setDelivers(true);
        vm.expectRevert(abi.encodeWithSelector(ISettlement.WrongDelivery.selector, address(token), PAYEE, 5, 0));
        submit(REFERENCE, address(token), PAYEE, 5, payer, signature);
    }

    function test_refusesATokenWithoutErc3009() public {
        address[2] memory others = [address(new OpenToken()), STRANGER];
        for (uint256 i = 0; i < 2; ++i) {
            vm.expectRevert(abi.encodeWithSelector(ISettlement.InvalidToken.selector, others[i]));
            submit(REFERENCE, others[i], PAYEE, 5, payer, new bytes(65));
        }
    }

    function expectPermitRefused(address token, address payer_, uint256 allowance, uint256 amount) private {
        vm.expectRevert(abi.encodeWithSelector(ISettlement.PermitRefused.selector, token, payer_, allowance, amount));
    }

    function permitOf(uint256 amount) private view returns (ISettlement.Permit memory permit) {
        bytes32 structHash = keccak256(
            abi.encode(
                PERMIT_TYPEHASH,
                payer,
                address(settlement),
                amount,
                IERC20Permit(address(dollar)).nonces(payer),
                block.timestamp + 1
            )
        );
        bytes32 digest = keccak256(abi.encodePacked(hex"1901", dollar.DOMAIN_SEPARATOR(), structHash));
        permit.deadline = block.timestamp + 1;
        (permit.v, permit.r, permit.s) = vm.sign(KEY, digest);
    }

    function nonceOf(bytes32 orderReference) private view returns (bytes32) {
        return settlement.authorizationNonce(orderReference, address(dollar), PAYEE);
    }

    function authorized(
        bytes32 orderReference,
        address token,
        address payee,
        uint256 amount,
        uint256 key
    ) private view returns (bytes memory) {
        bytes32 nonce = settlement.authorizationNonce(orderReference, token, payee);
        return signReceive(Dollar(token), key, vm.addr(key), address(settlement), amount, nonce);
    }

    function submit(
        bytes32 orderReference,
        address token,
        address payee,
        uint256 amount,
        address from,
        bytes memory signature
    ) private {
        vm.prank(STRANGER);
        settlement.settleWithAuthorization(
            orderReference,
            token,
            payee,
            amount,
            from,
            VALID_AFTER,
            VALID_BEFORE,
            signature
        );
    }

    function refusesSigner(
        bytes32 orderReference,
        address token,
        address payee,
        uint256 amount,
        address from,
        bytes memory signature
    ) private {
        bytes memory data = abi.encodeCall(
            ISettlement.settleWithAuthorization,
            (orderReference, token, payee, amount, from, VALID_AFTER, VALID_BEFORE, signature)
        );
        vm.prank(STRANGER);
        (bool success, bytes memory answer) = address(settlement).call(data);
        no(success, "refused");
        vm.assertTrue(bytes4(answer) == ISettlement.InvalidSignature.selector, "for its signature");
    }
}
