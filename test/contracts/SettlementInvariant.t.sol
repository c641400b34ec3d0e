// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ISettlement} from "../../contracts/interfaces/ISettlement.sol";
import {SettlementHandler} from "./support/SettlementHandler.sol";
import {Test} from "./support/Test.sol";

// whatever is called, in whatever order, well or badly
// ├── the contract holds neither coin nor tokens
// ├── a reference is settled at most once per authority, and is marked exactly when it was
// ├── what payees have is what was settled, and what payers miss too
// ├── nobody's references change but those of who pays or signs
// └── calls succeed when they should and fail when they should
contract SettlementInvariantTest is Test {
    ISettlement private settlement;
    SettlementHandler private handler;

    function setUp() public {
        settlement = ISettlement(deployed("Settlement.sol:Settlement", ""));
        handler = new SettlementHandler(settlement);
        target(address(handler));
    }

    function invariant_holdsNoCoin() public view {
        eq(address(settlement).balance, 0, "no coin");
    }

    function invariant_holdsNoTokens() public view {
        eq(handler.token().balanceOf(address(settlement)), 0, "no tokens");
    }

    function invariant_settlesAReferenceAtMostOnce() public view {
        address[5] memory authorities = everybody();
        for (uint256 i = 0; i < authorities.length; ++i) {
            for (uint256 k = 0; k < handler.REFERENCES(); ++k) {
                yes(handler.payments(authorities[i], handler.referenceAt(k)) <= 1, "once");
            }
        }
    }

    function invariant_marksExactlyWhatWasSettled() public view {
        address[5] memory authorities = everybody();
        bytes32[] memory references = new bytes32[](handler.REFERENCES());
        for (uint256 k = 0; k < references.length; ++k) references[k] = handler.referenceAt(k);
        for (uint256 i = 0; i < authorities.length; ++i) {
            bool[] memory settled = settlement.areSettled(authorities[i], references);
            for (uint256 k = 0; k < references.length; ++k) {
                vm.assertTrue(settled[k] == (handler.payments(authorities[i], references[k]) == 1), "marked");
            }
        }
    }

    function invariant_paysPayeesWhatWasSettledInCoin() public view {
        uint256 arrived = handler.payee().balance + address(handler.reentrant()).balance;
        // What the reentrant payee passed on was settled twice: to it, and by it.
        eq(arrived, handler.coinPaid() - passedOn(), "arrived");
    }

    function invariant_takesFromPayersWhatWasSettledInCoin() public view {
        uint256 missing = handler.PAYERS() * handler.WEALTH();
        for (uint256 i = 0; i < handler.PAYERS(); ++i) missing -= handler.payer(i).balance;
        eq(missing, handler.coinPaid() - passedOn(), "sent, less returned");
    }

    function invariant_paysPayeesWhatWasSettledInTokens() public view {
        eq(handler.token().balanceOf(handler.payee()), handler.tokensPaid(), "arrived");
    }

    function invariant_takesFromPayersWhatWasSettledInTokens() public view {
        uint256 left = 0;
        for (uint256 i = 0; i < handler.PAYERS(); ++i) left += handler.token().balanceOf(handler.payer(i));
        eq(left, handler.PAYERS() * handler.WEALTH() - handler.tokensPaid(), "left");
    }

    function invariant_leavesAPayeeThatRefusesWithNothing() public view {
        eq(address(handler.refusing()).balance, 0, "nothing");
    }

    function invariant_marksNothingForBystanders() public view {
        address[3] memory bystanders = [handler.payee(), address(handler.refusing()), address(handler)];
        for (uint256 i = 0; i < bystanders.length; ++i) {
            for (uint256 k = 0; k < handler.REFERENCES(); ++k) {
                no(settlement.isSettled(bystanders[i], handler.referenceAt(k)), "a bystander's");
            }
        }
    }

    function invariant_succeedsAndFailsAsItShould() public view {
        eq(handler.surprises(), 0, "no surprises");
    }

    function test_isTriedByCallsThatSucceedAndCallsThatFail() public {
        for (uint256 i = 0; i < 3; ++i) {
            handler.settle(0, 1, 5);
            handler.settleToken(0, 2, 5);
            handler.settleBatch(0, 3, 11, i == 1);
            handler.settleTokenBatch(0, 16, 6);
            handler.settleBatchPartial(1, 3, 11, 0x5);
            handler.settleTokenBatchPartial(1, 24, 4, 0x5);
            handler.settleWithIntent(2, 4, 5, false);
            handler.settleWithIntent(2, 5, 5, true);
            handler.settleFromWithin(2, 30, 31);
        }
        eq(handler.settled(), 38, "each once, all told");
        yes(handler.failed() > 20, "and refused again");
        eq(handler.surprises(), 0, "as it should");
    }

    function passedOn() private view returns (uint256 amount) {
        for (uint256 k = 0; k < handler.REFERENCES(); ++k) {
            amount += handler.payments(address(handler.reentrant()), handler.referenceAt(k));
        }
    }

    function everybody() private view returns (address[5] memory) {
        return [handler.payer(0), handler.payer(1), handler.payer(2), handler.operator(), address(handler.reentrant())];
    }
}
