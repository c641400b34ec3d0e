// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

// The messages are FiatToken's own.
// solhint-disable gas-custom-errors

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

/// @notice What a transfer of USDC does on chain, so that gas is measured on the shape of a real token: behind a proxy,
/// with a pause, with the blocklist in the balance's word, and an allowance that is lowered even when infinite.
/// @dev The layout puts the pause beside the owner, as FiatToken does.
contract UsdcShape is IERC20 {
    uint256 private constant BLOCKED = 1 << 255;

    address private _owner;
    bool public paused;
    uint256 public totalSupply;
    mapping(address account => uint256) private _accounts;
    mapping(address owner => mapping(address spender => uint256)) public allowance;
    mapping(address minter => uint256) public minterAllowed;

    event Mint(address indexed minter, address indexed to, uint256 amount);

    modifier whenNotPaused() {
        require(!paused, "Pausable: paused");
        _;
    }

    modifier notBlocked(address account) {
        require(_accounts[account] & BLOCKED == 0, "Blacklistable: account is blacklisted");
        _;
    }

    function initialize(address owner) external {
        require(_owner == address(0), "already initialized");
        _owner = owner;
    }

    function setPaused(bool value) external {
        require(msg.sender == _owner, "not the owner");
        paused = value;
    }

    function setBlocked(address account, bool value) external {
        require(msg.sender == _owner, "not the owner");
        _accounts[account] = value ? _accounts[account] | BLOCKED : _accounts[account] & ~BLOCKED;
    }

    function configureMinter(address minter, uint256 amount) external {
        require(msg.sender == _owner, "not the owner");
        minterAllowed[minter] = amount;
    }

    function mint(
        address to,
        uint256 amount
    ) external whenNotPaused notBlocked(msg.sender) notBlocked(to) returns (bool) {
        uint256 allowed = minterAllowed[msg.sender];
        require(amount <= allowed, "FiatToken: mint amount exceeds minterAllowance");
        totalSupply += amount;
        _accounts[to] += amount;
        minterAllowed[msg.sender] = allowed - amount;
        emit Mint(msg.sender, to, amount);
        emit Transfer(address(0), to, amount);
        return true;
    }

    function approve(address spender, uint256 amount) external whenNotPaused returns (bool) {
        allowance[msg.sender][spender] = amount;
        emit Approval(msg.sender, spender, amount);
        return true;
    }

    function transfer(address to, uint256 amount) external whenNotPaused notBlocked(to) returns (bool) {
        _move(msg.sender, to, amount);
        return true;
    }

    function transferFrom(
        address from,
        address to,
        uint256 amount
    ) external whenNotPaused notBlocked(msg.sender) notBlocked(to) returns (bool) {
        require(amount <= allowance[from][msg.sender], "ERC20: transfer amount exceeds allowance");
        _move(from, to, amount);
        allowance[from][msg.sender] -= amount;
        return true;
    }

    function balanceOf(address account) external view returns (uint256) {
        return _accounts[account] & ~BLOCKED;
    }

    function _move(address from, address to, uint256 amount) private notBlocked(from) {
        require(amount <= _accounts[from], "ERC20: transfer amount exceeds balance");
        _accounts[from] -= amount;
        _accounts[to] += amount;
        emit Transfer(from, to, amount);
    }
}

/// @notice A proxy of the kind USDC sits behind: it reads its admin and its implementation on every call.
contract UsdcShapeProxy {
    bytes32 private constant ADMIN_SLOT = keccak256("org.zeppelinos.proxy.admin");
    bytes32 private constant IMPLEMENTATION_SLOT = keccak256("org.zeppelinos.proxy.implementation");

    constructor(address implementation, address admin) {
        bytes32 adminSlot = ADMIN_SLOT;
        bytes32 implementationSlot = IMPLEMENTATION_SLOT;
        assembly {
            sstore(adminSlot, admin)
            sstore(implementationSlot, implementation)
        }
    }

    fallback() external {
        bytes32 adminSlot = ADMIN_SLOT;
        bytes32 implementationSlot = IMPLEMENTATION_SLOT;
        assembly {
            if eq(caller(), sload(adminSlot)) {
                revert(0, 0)
            }
            calldatacopy(0, 0, calldatasize())
            let success := delegatecall(gas(), sload(implementationSlot), 0, calldatasize(), 0, 0)
            returndatacopy(0, 0, returndatasize())
            if success {
                return(0, returndatasize())
            }
            revert(0, returndatasize())
        }
    }
}
