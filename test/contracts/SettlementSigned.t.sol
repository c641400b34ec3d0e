// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC5267} from "@openzeppelin/contracts/interfaces/IERC5267.sol";

import {ISettlement} from "../../contracts/interfaces/ISettlement.sol";
import {RefusingReceiver} from "../../contracts/mocks/HostileReceivers.sol";
import {LyingToken, OpenToken} from "../../contracts/mocks/HostileTokens.sol";
import {PlainDelegate, Wallet1271} from "../../contracts/mocks/Wallet1271.sol";
import {SettlementFixture} from "./support/SettlementFixture.sol";

// settleWithIntent
// ├── when the operator signed it
// │   ├── by key, with or without code of its own (EIP-7702): pays from the caller, marks under the operator
// │   └── by an ERC-1271 wallet: the same
// ├── when the deadline has passed: refuses; at the deadline: pays
// ├── when it is paid again, by anybody: refuses
// ├── when any field differs from what was signed: refuses
// ├── when the signature is another's, another chain's, another contract's, malleable, short or empty: refuses
// ├── when the operator is zero, or the payee refuses: refuses
// └── when the value is not the amount, or a token comes with value: refuses
contract SettlementSignedTest is SettlementFixture {
    uint256 private constant KEY = 0xa11ce;
    uint256 private constant ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141;
    bytes32 private constant TYPEHASH = keccak256(
        "Intent(address operator,bytes32 orderReference,address payee,address token,uint256 amount,uint256 deadline)"
    );
    bytes32 private constant DOMAIN_TYPEHASH = keccak256(
        "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
    );

    address private operator;

    function setUp() public override {
        super.setUp();
        operator = vm.addr(KEY);
    }

    function testFuzz_paysAnIntentOnce(bytes32 orderReference, uint128 amount, uint32 wait) public {
        vm.assume(orderReference != 0 && amount != 0);
        ISettlement.Intent memory intent = intentOf(operator, address(0), amount);
        intent.orderReference = orderReference;
        intent.deadline = block.timestamp + wait;
        bytes memory signature = signed(intent, KEY);
        vm.warp(intent.deadline);

        expectSettled(orderReference, PAYER, PAYEE, address(0), amount);
        vm.prank(PAYER);
        settlement.settleWithIntent{value: amount}(intent, signature);
        eq(PAYEE.balance, amount, "paid");
        yes(settlement.isSettled(operator, orderReference), "under the operator");
        no(settlement.isSettled(PAYER, orderReference), "not under the payer");

        vm.expectRevert(abi.encodeWithSelector(ISettlement.AlreadySettled.selector, operator, orderReference));
        vm.prank(STRANGER);
        settlement.settleWithIntent{value: amount}(intent, signature);
    }

    function test_paysAnIntentInTokens() public {
        OpenToken token = new OpenToken();
        token.mint(PAYER, 9);
        vm.prank(PAYER);
        token.approve(address(settlement), 9);
        ISettlement.Intent memory intent = intentOf(operator, address(token), 9);
        bytes memory signature = signed(intent, KEY);

        refuses(abi.encodeWithSelector(ISettlement.WrongValue.selector, 1, 0), intent, signature, 1);
        expectSettled(REFERENCE, PAYER, PAYEE, address(token), 9);
        vm.prank(PAYER);
        settlement.settleWithIntent(intent, signature);
        eq(token.balanceOf(PAYEE), 9, "paid");
    }

    function test_refusesAnIntentInATokenThatLies() public {
        LyingToken liar = new LyingToken();
        ISettlement.Intent memory intent = intentOf(operator, address(liar), 9);
        bytes memory reason = abi.encodeWithSelector(ISettlement.WrongDelivery.selector, liar, PAYEE, 9, 0);
        refuses(reason, intent, signed(intent, KEY), 0);
    }

    function test_paysTheIntentOfAWalletWithoutAKey() public {
        Wallet1271 wallet = new Wallet1271(operator);
        ISettlement.Intent memory intent = intentOf(address(wallet), address(0), 9);
        bytes memory signature = abi.encodePacked(bytes1(0x01), signed(intent, KEY));
        vm.prank(PAYER);
        settlement.settleWithIntent{value: 9}(intent, signature);
        yes(settlement.isSettled(address(wallet), REFERENCE), "under the wallet");
    }

    function test_refusesAWalletsSignatureForItsOwnersOtherWallet() public {
        Wallet1271 first = new Wallet1271(operator);
        Wallet1271 second = new Wallet1271(operator);
        ISettlement.Intent memory intent = intentOf(address(first), address(0), 9);
        bytes memory signature = abi.encodePacked(bytes1(0x01), signed(intent, KEY));
        intent.operator = address(second);
        refuses(invalid(address(second), address(0)), intent, signature, 9);
    }

    function test_paysTheIntentOfADelegatedAccountByItsKey() public {
        vm.etch(operator, address(new PlainDelegate()).code);
        ISettlement.Intent memory intent = intentOf(operator, address(0), 9);
        bytes memory signature = signed(intent, KEY);
        vm.prank(PAYER);
        settlement.settleWithIntent{value: 9}(intent, signature);
        yes(settlement.isSettled(operator, REFERENCE), "code does not take the key away");
    }

    function test_refusesAnExpiredIntent() public {
        ISettlement.Intent memory intent = intentOf(operator, address(0), 9);
        bytes memory signature = signed(intent, KEY);
        vm.warp(intent.deadline + 1);
        bytes memory reason = abi.encodeWithSelector(
            ISettlement.IntentExpired.selector,
            intent.deadline,
            intent.deadline + 1
        );
        refuses(reason, intent, signature, 9);
    }

    function test_refusesTheWrongValue() public {
        ISettlement.Intent memory intent = intentOf(operator, address(0), 9);
        bytes memory signature = signed(intent, KEY);
        refuses(abi.encodeWithSelector(ISettlement.WrongValue.selector, 8, 9), intent, signature, 8);
        refuses(abi.encodeWithSelector(ISettlement.WrongValue.selector, 10, 9), intent, signature, 10);
    }

    function testFuzz_refusesAnIntentThatWasChanged(uint8 field, uint160 change) public {
        vm.assume(change != 0);
        ISettlement.Intent memory intent = intentOf(operator, address(0), 9);
        bytes memory signature = signed(intent, KEY);
        uint256 which = field % 6;
        if (which == 0) intent.operator = address(uint160(intent.operator) ^ change);
        if (which == 1) intent.orderReference ^= bytes32(uint256(change));
        if (which == 2) intent.payee = address(uint160(intent.payee) ^ change);
        if (which == 3) intent.token = address(change);
        if (which == 4) intent.amount ^= change;
        if (which == 5) intent.deadline += change;
        vm.deal(PAYER, intent.amount);
        vm.prank(PAYER);
        (bool success, bytes memory answer) = address(settlement).call{value: intent.amount}(
            abi.encodeCall(ISettlement.settleWithIntent, (intent, signature))
        );
        no(success, "refused");
        vm.assertTrue(bytes4(answer) == ISettlement.InvalidSignature.selector, "for its signature");
    }

    function test_refusesAnIntentWhoseAddressesHaveUpperBits() public {
        ISettlement.Intent memory intent = intentOf(operator, address(0), 9);
        bytes memory data = abi.encodeCall(ISettlement.settleWithIntent, (intent, signed(intent, KEY)));
        uint256[3] memory words = [uint256(0), 2, 3];
        for (uint256 i = 0; i < 3; ++i) {
            uint256 place = 4 + 32 * words[i] + 11;
            data[place] = 0x01;
            vm.prank(PAYER);
            (bool success, bytes memory answer) = address(settlement).call{value: 9}(data);
            no(success, "refused");
            eq(answer.length, 0, "by the ABI decoder");
            data[place] = 0x00;
        }
    }

    function test_refusesSignaturesOfAnotherKeyChainOrContract() public {
        ISettlement.Intent memory intent = intentOf(operator, address(0), 9);
        refuses(invalid(operator, vm.addr(0xb0b)), intent, signed(intent, 0xb0b), 9);

        bytes memory signature = signed(intent, KEY);
        vm.chainId(block.chainid + 1);
        refusesAnySigner(intent, signature);
        vm.chainId(block.chainid - 1);

        address other = deployed("Settlement.sol:Settlement", "");
        refusesAnySigner(intent, sign(KEY, digestOf(intent, block.chainid, other)));
    }

    function test_acceptsSignaturesOfTheChainItFindsItselfOn() public {
        vm.chainId(777);
        ISettlement.Intent memory intent = intentOf(operator, address(0), 9);
        bytes memory signature = signed(intent, KEY);
        vm.prank(PAYER);
        settlement.settleWithIntent{value: 9}(intent, signature);
        eq(PAYEE.balance, 9, "paid on the chain that split off");
    }

    function test_refusesMalleableAndMalformedSignatures() public {
        ISettlement.Intent memory intent = intentOf(operator, address(0), 9);
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(KEY, digestOf(intent, block.chainid, address(settlement)));
        bytes memory malleable = abi.encodePacked(r, bytes32(ORDER - uint256(s)), v == 27 ? uint8(28) : uint8(27));
        refuses(invalid(operator, address(0)), intent, malleable, 9);
        refuses(invalid(operator, address(0)), intent, abi.encodePacked(r, s), 9);
        refuses(invalid(operator, address(0)), intent, "", 9);
        refuses(invalid(operator, address(0)), intent, abi.encodePacked(r, s, uint8(0)), 9);
    }

    function test_leavesTheIntentUnpaidWhenThePayeeRefuses() public {
        RefusingReceiver payee = new RefusingReceiver();
        ISettlement.Intent memory intent = intentOf(operator, address(0), 9);
        intent.payee = address(payee);
        bytes memory signature = signed(intent, KEY);
        refuses(abi.encodeWithSelector(ISettlement.PaymentRefused.selector, payee, 9), intent, signature, 9);
        no(settlement.isSettled(operator, REFERENCE), "unsettled");
    }

    function test_refusesTheZeroOperator() public {
        ISettlement.Intent memory intent = intentOf(address(0), address(0), 9);
        bytes memory nobody = abi.encodePacked(bytes32(uint256(1)), bytes32(uint256(1)), uint8(1));
        refuses(invalid(address(0), address(0)), intent, nobody, 9);
    }

    function test_refusesAWrongOrderInAnIntent() public {
        ISettlement.Intent memory intent = intentOf(operator, address(0), 0);
        refuses(abi.encodeWithSelector(ISettlement.ZeroAmount.selector, REFERENCE), intent, signed(intent, KEY), 0);
        intent = intentOf(operator, address(0), 9);
        intent.payee = address(settlement);
        bytes memory reason = abi.encodeWithSelector(ISettlement.InvalidPayee.selector, REFERENCE, settlement);
        refuses(reason, intent, signed(intent, KEY), 9);
    }

    function test_tellsItsDomain() public view {
        (, string memory name, string memory domainVersion, uint256 chainId, address verifier, , ) = IERC5267(
            address(settlement)
        ).eip712Domain();
        vm.assertEq(name, "Quittance Settlement", "name");
        vm.assertEq(domainVersion, settlement.version(), "version");
        eq(chainId, block.chainid, "chain");
        vm.assertEq(verifier, address(settlement), "contract");
    }

    function intentOf(
        address who,
        address token,
        uint256 amount
    ) private view returns (ISettlement.Intent memory intent) {
        return ISettlement.Intent(who, REFERENCE, PAYEE, token, amount, block.timestamp + 1 hours);
    }

    function signed(ISettlement.Intent memory intent, uint256 key) private view returns (bytes memory) {
        return sign(key, digestOf(intent, block.chainid, address(settlement)));
    }

    function sign(uint256 key, bytes32 digest) private pure returns (bytes memory) {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, digest);
        return abi.encodePacked(r, s, v);
    }

    function digestOf(
        ISettlement.Intent memory intent,
        uint256 chainId,
        address verifier
    ) private pure returns (bytes32) {
        bytes32 domain = keccak256(
            abi.encode(DOMAIN_TYPEHASH, keccak256("Quittance Settlement"), keccak256("1"), chainId, verifier)
        );
        return keccak256(abi.encodePacked(hex"1901", domain, keccak256(abi.encode(TYPEHASH, intent))));
    }

    function invalid(address expected, address recovered) private pure returns (bytes memory) {
        return abi.encodeWithSelector(ISettlement.InvalidSignature.selector, expected, recovered);
    }

    function refuses(
        bytes memory reason,
        ISettlement.Intent memory intent,
        bytes memory signature,
        uint256 value
    ) private {
        vm.expectRevert(reason);
        vm.prank(PAYER);
        settlement.settleWithIntent{value: value}(intent, signature);
    }

    /// @dev A signature of something else recovers to nobody in particular.
    function refusesAnySigner(ISettlement.Intent memory intent, bytes memory signature) private {
        vm.prank(PAYER);
        (bool success, bytes memory answer) = address(settlement).call{value: intent.amount}(
            abi.encodeCall(ISettlement.settleWithIntent, (intent, signature))
        );
        no(success, "refused");
        vm.assertTrue(bytes4(answer) == ISettlement.InvalidSignature.selector, "for its signature");
    }
}
