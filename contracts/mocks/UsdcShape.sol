// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

// The messages and the places of arguments are FiatToken's own.
// solhint-disable gas-custom-errors, gas-calldata-parameters

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {MessageHashUtils} from "@openzeppelin/contracts/utils/cryptography/MessageHashUtils.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";
import {StorageSlot} from "@openzeppelin/contracts/utils/StorageSlot.sol";

/// @notice What USDC (FiatToken 2.2) does on chain, so that gas and refusals are those of a real token: behind a proxy,
/// with a pause, with the blocklist in the balance's word, an allowance that is lowered even when infinite, and
/// signatures that an account with code gives by ERC-1271 only.
/// @dev It reads and writes storage as often as FiatToken does, warm slots too, and asks its library by a call: each of
/// its figures is within a hundredth of FiatToken's. The layout puts the pause beside an address, as FiatToken does.
contract UsdcShape is IERC20 {
    uint256 private constant BALANCE = (1 << 255) - 1;

    bytes32 private constant DOMAIN_TYPEHASH = keccak256(
        "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
    );
    bytes32 private constant PERMIT_TYPEHASH = keccak256(
        "Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)"
    );
    bytes32 private constant RECEIVE_TYPEHASH = keccak256(
        "ReceiveWithAuthorization(address from,address to,uint256 value,"
        "uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );

    address private _owner;
    bool public paused;
    string public name;
    uint256 public totalSupply;
    mapping(address account => uint256) private _accounts;
    mapping(address owner => mapping(address spender => uint256)) public allowance;
    mapping(address minter => bool) public isMinter;
    mapping(address minter => uint256) public minterAllowance;
    mapping(address owner => uint256) public nonces;
    mapping(address authorizer => mapping(bytes32 nonce => bool)) public authorizationState;

    event Mint(address indexed minter, address indexed to, uint256 amount);
    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);

    modifier onlyOwner() {
        require(msg.sender == _owner, "Ownable: caller is not the owner");
        _;
    }

    modifier whenNotPaused() {
        require(!paused, "Pausable: paused");
        _;
    }

    modifier notBlocked(address account) {
        require(!_isBlocked(account), "Blacklistable: account is blacklisted");
        _;
    }

    function initialize(address owner) external {
        require(_owner == address(0), "FiatToken: contract is already initialized");
        (_owner, name) = (owner, "USD Coin");
    }

    function setPaused(bool value) external onlyOwner {
        paused = value;
    }

    function setBlocked(address account, bool value) external onlyOwner {
        _accounts[account] = value ? _accounts[account] | ~BALANCE : _accounts[account] & BALANCE;
    }

    function configureMinter(address minter, uint256 amount) external onlyOwner {
        isMinter[minter] = true;
        minterAllowance[minter] = amount;
    }

    function mint(
        address to,
        uint256 amount
    ) external whenNotPaused notBlocked(msg.sender) notBlocked(to) returns (bool) {
        require(isMinter[msg.sender], "FiatToken: caller is not a minter");
        uint256 allowed = minterAllowance[msg.sender];
        require(amount <= allowed, "FiatToken: mint amount exceeds minterAllowance");
        totalSupply += amount;
        _setBalance(to, balanceOf(to) + amount);
        minterAllowance[msg.sender] = allowed - amount;
        emit Mint(msg.sender, to, amount);
        emit Transfer(address(0), to, amount);
        return true;
    }

    function approve(address spender, uint256 amount) external whenNotPaused returns (bool) {
        _approve(msg.sender, spender, amount);
        return true;
    }

    function transfer(
        address to,
        uint256 amount
    ) external whenNotPaused notBlocked(msg.sender) notBlocked(to) returns (bool) {
        _move(msg.sender, to, amount);
        return true;
    }

    function transferFrom(
        address from,
        address to,
        uint256 amount
    ) external whenNotPaused notBlocked(msg.sender) notBlocked(from) notBlocked(to) returns (bool) {
        require(amount <= allowance[from][msg.sender], "ERC20: transfer amount exceeds allowance");
        _move(from, to, amount);
        uint256 allowed = allowance[from][msg.sender];
        allowance[from][msg.sender] = allowed - amount;
        return true;
    }

    function permit(
        address owner,
        address spender,
        uint256 value,
        uint256 deadline,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external whenNotPaused {
        require(block.timestamp <= deadline, "FiatTokenV2: permit is expired");
        bytes32 structHash = keccak256(abi.encode(PERMIT_TYPEHASH, owner, spender, value, nonces[owner]++, deadline));
        require(_isSigned(owner, structHash, abi.encodePacked(r, s, v)), "EIP2612: invalid signature");
        _approve(owner, spender, value);
    }

    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external whenNotPaused notBlocked(from) notBlocked(to) {
        _receive(from, to, value, validAfter, validBefore, nonce, abi.encodePacked(r, s, v));
    }

    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) external whenNotPaused notBlocked(from) notBlocked(to) {
        _receive(from, to, value, validAfter, validBefore, nonce, signature);
    }

    // solhint-disable-next-line func-name-mixedcase
    function DOMAIN_SEPARATOR() public view returns (bytes32) {
        return
            keccak256(
                abi.encode(DOMAIN_TYPEHASH, keccak256(bytes(name)), keccak256(bytes("2")), block.chainid, address(this))
            );
    }

    function balanceOf(address account) public view returns (uint256) {
        return _accounts[account] & BALANCE;
    }

    function _receive(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) private {
        require(to == msg.sender, "FiatTokenV2: caller must be the payee");
        require(block.timestamp > validAfter, "FiatTokenV2: authorization is not yet valid");
        require(block.timestamp < validBefore, "FiatTokenV2: authorization is expired");
        require(!authorizationState[from][nonce], "FiatTokenV2: authorization is used or canceled");
        bytes32 structHash = keccak256(abi.encode(RECEIVE_TYPEHASH, from, to, value, validAfter, validBefore, nonce));
        require(_isSigned(from, structHash, signature), "FiatTokenV2: invalid signature");
        authorizationState[from][nonce] = true;
        emit AuthorizationUsed(from, nonce);
        _move(from, to, value);
    }

    function _approve(address owner, address spender, uint256 amount) private {
        allowance[owner][spender] = amount;
        emit Approval(owner, spender, amount);
    }

    function _move(address from, address to, uint256 amount) private {
        require(from != address(0), "ERC20: transfer from the zero address");
        require(to != address(0), "ERC20: transfer to the zero address");
        require(amount <= balanceOf(from), "ERC20: transfer amount exceeds balance");
        _setBalance(from, balanceOf(from) - amount);
        _setBalance(to, balanceOf(to) + amount);
        emit Transfer(from, to, amount);
    }

    function _setBalance(address account, uint256 balance) internal {
        require(balance <= BALANCE, "FiatTokenV2_2: Balance exceeds (2^255 - 1)");
        require(!_isBlocked(account), "FiatTokenV2_2: Account is blacklisted");
        _accounts[account] = balance;
    }

    function _isBlocked(address account) internal view returns (bool) {
        return _accounts[account] >> 255 == 1;
    }

    function _isSigned(address signer, bytes32 structHash, bytes memory signature) private view returns (bool) {
        bytes32 digest = MessageHashUtils.toTypedDataHash(DOMAIN_SEPARATOR(), structHash);
        return UsdcShapeSignatures.isValid(signer, digest, signature);
    }
}

/// @notice Asks a key or, where the signer has code, that code, even if the account has a key too (EIP-7702).
library UsdcShapeSignatures {
    function isValid(address signer, bytes32 digest, bytes memory signature) external view returns (bool) {
        if (signer.code.length == 0) return ECDSA.recover(digest, signature) == signer;
        return SignatureChecker.isValidERC1271SignatureNow(signer, digest, signature);
    }
}

/// @notice A proxy of the kind USDC sits behind: it tells the calls for itself from the others, and reads its admin and
/// its implementation on every call.
contract UsdcShapeProxy {
    bytes32 private constant ADMIN_SLOT = keccak256("org.zeppelinos.proxy.admin");
    bytes32 private constant IMPLEMENTATION_SLOT = keccak256("org.zeppelinos.proxy.implementation");

    constructor(address implementation_, address admin_) {
        StorageSlot.getAddressSlot(IMPLEMENTATION_SLOT).value = implementation_;
        StorageSlot.getAddressSlot(ADMIN_SLOT).value = admin_;
    }

    fallback() external {
        _delegate();
    }

    function changeAdmin(address admin_) external {
        if (msg.sender != admin()) return _delegate();
        StorageSlot.getAddressSlot(ADMIN_SLOT).value = admin_;
    }

    function upgradeTo(address implementation_) external {
        if (msg.sender != admin()) return _delegate();
        StorageSlot.getAddressSlot(IMPLEMENTATION_SLOT).value = implementation_;
    }

    function admin() public view returns (address) {
        return StorageSlot.getAddressSlot(ADMIN_SLOT).value;
    }

    function implementation() public view returns (address) {
        return StorageSlot.getAddressSlot(IMPLEMENTATION_SLOT).value;
    }

    function _delegate() private {
        require(msg.sender != admin(), "Cannot call fallback function from the proxy admin");
        address target = implementation();
        assembly {
            calldatacopy(0, 0, calldatasize())
            let success := delegatecall(gas(), target, 0, calldatasize(), 0, 0)
            returndatacopy(0, 0, returndatasize())
            if success {
                return(0, returndatasize())
            }
            revert(0, returndatasize())
        }
    }
}
