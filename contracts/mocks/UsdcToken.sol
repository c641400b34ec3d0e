// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

// The messages are FiatToken's own.
// solhint-disable gas-custom-errors

import {UsdcShape} from "./UsdcShape.sol";

/// @notice USDC's shape with what a program asks of a token before it relies on it, and with the burn of its minters.
/// @dev Apart from the shape, so that the figures of the shape are measured on what they are about.
contract UsdcToken is UsdcShape {
    event Burn(address indexed burner, uint256 amount);

    function burn(uint256 amount) external whenNotPaused notBlocked(msg.sender) {
        require(isMinter[msg.sender], "FiatToken: caller is not a minter");
        require(amount > 0, "FiatToken: burn amount not greater than 0");
        uint256 balance = balanceOf(msg.sender);
        require(balance >= amount, "FiatToken: burn amount exceeds balance");
        totalSupply -= amount;
        _setBalance(msg.sender, balance - amount);
        emit Burn(msg.sender, amount);
        emit Transfer(msg.sender, address(0), amount);
    }

    function isBlacklisted(address account) external view returns (bool) {
        return _isBlocked(account);
    }

    function symbol() external pure returns (string memory) {
        return "USDC";
    }

    function decimals() external pure returns (uint8) {
        return 6;
    }

    function version() external pure returns (string memory) {
        return "2";
    }
}
