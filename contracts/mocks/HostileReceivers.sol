// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ISettlement} from "../interfaces/ISettlement.sol";

/// @notice Takes no coin until told otherwise.
contract RefusingReceiver {
    bool public willing;

    error Refused();

    function setWilling(bool value) external {
        willing = value;
    }

    receive() external payable {
        if (!willing) revert Refused();
    }
}

/// @notice Answers with a megabyte, which whoever copies it has to pay for.
contract ReturnBombReceiver {
    bool public reverting;

    function setReverting(bool value) external {
        reverting = value;
    }

    receive() external payable {
        bool fail = reverting;
        assembly {
            let size := 1000000
            if lt(gas(), 3000000) {
                size := 60000
            }
            if fail {
                revert(0, size)
            }
            return(0, size)
        }
    }
}

/// @notice Burns whatever gas it is given.
contract GasBurningReceiver {
    receive() external payable {
        assembly {
            invalid()
        }
    }
}

/// @notice Notes how much gas it was given, in its log.
contract GasMeteringReceiver {
    event Given(uint256 gasGiven);

    receive() external payable {
        emit Given(gasleft());
    }
}

/// @notice Calls the settlement contract again when it is paid.
contract ReentrantReceiver {
    ISettlement private immutable SETTLEMENT;

    bytes private _call;
    uint256 private _value;
    bool public tried;
    bool public succeeded;

    constructor(ISettlement settlement) {
        SETTLEMENT = settlement;
    }

    /// @notice What to call, once, when the next coin comes in.
    function prepare(bytes calldata data, uint256 value) external payable {
        _call = data;
        _value = value;
        tried = false;
    }

    receive() external payable {
        if (tried || _call.length == 0) return;
        tried = true;
        (succeeded, ) = address(SETTLEMENT).call{value: _value}(_call);
    }
}

/// @notice Pays through the settlement contract and takes nothing back.
contract RefusingPayer {
    function pay(
        ISettlement settlement,
        bytes32[] calldata orderReferences,
        address[] calldata payees,
        uint256[] calldata amounts
    ) external payable {
        settlement.settleBatchPartial{value: msg.value}(orderReferences, payees, amounts);
    }
}
