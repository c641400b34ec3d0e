// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ISettlement} from "../../../contracts/interfaces/ISettlement.sol";
import {RefusingReceiver, ReentrantReceiver} from "../../../contracts/mocks/HostileReceivers.sol";
import {OpenToken} from "../../../contracts/mocks/HostileTokens.sol";
import {Test} from "./Test.sol";

/// @dev Pays in every way there is, with so few references that they meet, over two words, and keeps its own books.
contract SettlementHandler is Test {
    uint256 public constant REFERENCES = 40;
    uint256 public constant PAYERS = 3;
    uint256 public constant WEALTH = 1e30;

    ISettlement public immutable settlement;
    OpenToken public immutable token;
    RefusingReceiver public immutable refusing;
    ReentrantReceiver public immutable reentrant;
    address public immutable operator;

    mapping(address authority => mapping(bytes32 orderReference => uint256)) public payments;
    uint256 public coinPaid;
    uint256 public tokensPaid;
    uint256 public surprises;
    uint256 public settled;
    uint256 public failed;

    constructor(ISettlement settlement_) {
        settlement = settlement_;
        token = new OpenToken();
        refusing = new RefusingReceiver();
        reentrant = new ReentrantReceiver(settlement_);
        operator = vm.addr(0xa11ce);
        for (uint256 i = 0; i < PAYERS; ++i) {
            vm.deal(payer(i), WEALTH);
            token.mint(payer(i), WEALTH);
            vm.prank(payer(i));
            token.approve(address(settlement), type(uint256).max);
        }
    }

    function settle(uint256 who, uint256 which, uint96 amount) external {
        (address from, bytes32 orderReference) = (payer(who), referenceAt(which));
        vm.prank(from);
        try settlement.settle{value: amount}(orderReference, payee()) {
            note(from, orderReference, amount, 0);
        } catch {
            expectFailure(payments[from][orderReference] != 0 || amount == 0);
        }
    }

    function settleToken(uint256 who, uint256 which, uint96 amount) external {
        (address from, bytes32 orderReference) = (payer(who), referenceAt(which));
        vm.prank(from);
        try settlement.settleToken(orderReference, address(token), payee(), amount) {
            note(from, orderReference, 0, amount);
        } catch {
            expectFailure(payments[from][orderReference] != 0 || amount == 0);
        }
    }

    function settleBatch(uint256 who, uint256 which, uint8 count, bool shortOfValue) external {
        address from = payer(who);
        (bytes32[] memory references, address[] memory payees, uint256[] memory amounts, uint256 total) = batch(
            which,
            between(count, 1, 12),
            0
        );
        bool mustFail = shortOfValue || anySettled(from, references);
        vm.prank(from);
        try settlement.settleBatch{value: shortOfValue ? total - 1 : total}(references, payees, amounts) {
            for (uint256 i = 0; i < references.length; ++i) note(from, references[i], amounts[i], 0);
            if (mustFail) ++surprises;
        } catch {
            expectFailure(mustFail);
        }
    }

    function settleTokenBatch(uint256 who, uint256 which, uint8 count) external {
        address from = payer(who);
        (bytes32[] memory references, address[] memory payees, uint256[] memory amounts, ) = batch(
            which,
            between(count, 1, 12),
            0
        );
        bool mustFail = anySettled(from, references);
        vm.prank(from);
        try settlement.settleTokenBatch(references, address(token), payees, amounts) {
            for (uint256 i = 0; i < references.length; ++i) note(from, references[i], 0, amounts[i]);
            if (mustFail) ++surprises;
        } catch {
            expectFailure(mustFail);
        }
    }

    function settleBatchPartial(uint256 who, uint256 which, uint8 count, uint16 refusals) external {
        address from = payer(who);
        uint256 size = between(count, 1, 12);
        (bytes32[] memory references, address[] memory payees, uint256[] memory amounts, uint256 total) = batch(
            which,
            size,
            refusals
        );
        uint256 before = from.balance;
        vm.prank(from);
        uint256 paid = settlement.settleBatchPartial{value: total}(references, payees, amounts);
        uint256 expected = 0;
        for (uint256 i = 0; i < size; ++i) {
            bool payable_ = payees[i] != address(refusing) && payments[from][references[i]] == 0;
            if (payable_) {
                note(from, references[i], amounts[i], 0);
                expected += amounts[i];
            } else ++failed;
        }
        if (paid != expected || before - from.balance != paid) ++surprises;
    }

    function settleTokenBatchPartial(uint256 who, uint256 which, uint8 count, uint16 refusals) external {
        address from = payer(who);
        uint256 size = between(count, 1, 12);
        (bytes32[] memory references, address[] memory payees, uint256[] memory amounts, ) = batch(
            which,
            size,
            refusals
        );
        // The token pays nobody there.
        for (uint256 i = 0; i < size; ++i) if (payees[i] == address(refusing)) payees[i] = address(settlement);
        uint256 before = token.balanceOf(from);
        vm.prank(from);
        uint256 paid = settlement.settleTokenBatchPartial(references, address(token), payees, amounts);
        uint256 expected = 0;
        for (uint256 i = 0; i < size; ++i) {
            if (payees[i] == payee() && payments[from][references[i]] == 0) {
                note(from, references[i], 0, amounts[i]);
                expected += amounts[i];
            } else ++failed;
        }
        if (paid != expected || before - token.balanceOf(from) != paid) ++surprises;
    }

    function settleWithIntent(uint256 who, uint256 which, uint96 amount, bool inTokens) external {
        bytes32 orderReference = referenceAt(which);
        ISettlement.Intent memory intent = ISettlement.Intent(
            operator,
            orderReference,
            payee(),
            inTokens ? address(token) : address(0),
            amount,
            block.timestamp
        );
        vm.prank(payer(who));
        try settlement.settleWithIntent{value: inTokens ? 0 : amount}(intent, sign(intent)) {
            note(operator, orderReference, inTokens ? 0 : amount, inTokens ? amount : 0);
        } catch {
            expectFailure(payments[operator][orderReference] != 0 || amount == 0);
        }
    }

    function settleFromWithin(uint256 who, uint256 outer, uint256 inner) external {
        (address from, bytes32 orderReference, bytes32 nested) = (payer(who), referenceAt(outer), referenceAt(inner));
        reentrant.prepare(abi.encodeCall(settlement.settle, (nested, payee())), 1);
        vm.prank(from);
        try settlement.settle{value: 2}(orderReference, address(reentrant)) {
            note(from, orderReference, 2, 0);
            if (reentrant.succeeded()) note(address(reentrant), nested, 1, 0);
        } catch {
            expectFailure(payments[from][orderReference] != 0);
        }
    }

    function payer(uint256 who) public pure returns (address) {
        return address(uint160(0x7000000000000000000000000000000000000000) + uint160(who % PAYERS));
    }

    function referenceAt(uint256 which) public pure returns (bytes32) {
        return bytes32(236 + (which % REFERENCES));
    }

    function payee() public pure returns (address) {
        return address(0x8000000000000000000000000000000000000008);
    }

    function note(address authority, bytes32 orderReference, uint256 coin, uint256 tokens) private {
        ++payments[authority][orderReference];
        ++settled;
        coinPaid += coin;
        tokensPaid += tokens;
    }

    function expectFailure(bool expected) private {
        ++failed;
        if (!expected) ++surprises;
    }

    function anySettled(address from, bytes32[] memory references) private view returns (bool) {
        for (uint256 i = 0; i < references.length; ++i) if (payments[from][references[i]] != 0) return true;
        return false;
    }

    function batch(
        uint256 which,
        uint256 size,
        uint256 refusals
    )
        private
        view
        returns (bytes32[] memory references, address[] memory payees, uint256[] memory amounts, uint256 total)
    {
        (references, payees, amounts) = (new bytes32[](size), new address[](size), new uint256[](size));
        for (uint256 i = 0; i < size; ++i) {
            references[i] = referenceAt((which % REFERENCES) + i);
            payees[i] = refusals & (1 << i) == 0 ? payee() : address(refusing);
            amounts[i] = i + 1;
            total += amounts[i];
        }
    }

    function sign(ISettlement.Intent memory intent) private view returns (bytes memory) {
        bytes32 domain = keccak256(
            abi.encode(
                keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
                keccak256("Quittance Settlement"),
                keccak256("1"),
                block.chainid,
                address(settlement)
            )
        );
        bytes32 typehash = keccak256(
            "Intent(address operator,bytes32 orderReference,address payee,"
            "address token,uint256 amount,uint256 deadline)"
        );
        bytes32 digest = keccak256(abi.encodePacked(hex"1901", domain, keccak256(abi.encode(typehash, intent))));
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(0xa11ce, digest);
        return abi.encodePacked(r, s, v);
    }
}
