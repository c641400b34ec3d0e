// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @notice The usual once-only payment: a mapping from the reference to a flag.
contract MappingPayments {
    mapping(address payer => mapping(bytes32 orderReference => bool)) public settled;

    event Paid(bytes32 indexed orderReference, address indexed payer, address indexed payee, uint256 amount);

    error Repeated(bytes32 orderReference);
    error Refused(address payee);

    function pay(bytes32 orderReference, address payee) external payable {
        if (settled[msg.sender][orderReference]) revert Repeated(orderReference);
        settled[msg.sender][orderReference] = true;
        emit Paid(orderReference, msg.sender, payee, msg.value);
        (bool success, ) = payee.call{value: msg.value}("");
        if (!success) revert Refused(payee);
    }
}

/// @notice The cheapest payment that names its order: an event, and nothing against paying twice.
contract EventPayments {
    event Paid(bytes32 indexed orderReference, address indexed payer, address indexed payee, uint256 amount);

    error Refused(address payee);

    function pay(bytes32 orderReference, address payee) external payable {
        emit Paid(orderReference, msg.sender, payee, msg.value);
        (bool success, ) = payee.call{value: msg.value}("");
        if (!success) revert Refused(payee);
    }
}
