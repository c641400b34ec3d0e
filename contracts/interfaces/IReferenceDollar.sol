// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title A dollar whose every mint and burn names its order
/// @notice The stablecoin of the sandbox and the testnets, and the shape that verification is tried against. It is not
/// money. It has 6 decimals, ERC-2612 permits, and ERC-3009 authorizations with and without ERC-1271.
/// @dev There is no mint and no burn without a memo, so supply can be reconciled order by order. The functions with a
/// memo have the selectors of TIP-20 (Tempo) and B20 (Base); `Mint` and `Burn` have the shape of USDC's.
///
/// A memo is once-only per origin: the zero address for mints, so that an order is minted once whichever minter serves
/// it, and the holder for burns and transfers, so that nobody can use up the memo of another. Memos that differ only in
/// the last byte share a storage word.
///
/// Only a holder can lower its own balance. A freeze stops money; nothing here takes it away, so a burn always is what
/// it looks like: a redeem order by the holder.
///
/// The default admin (see `AccessControlDefaultAdminRules`, with a delay of a day for a successor) configures minters
/// and grants `PAUSER_ROLE` and `FREEZER_ROLE`. It is the constructor's only argument and holds no role but its own.
interface IReferenceDollar {
    /// @notice New money was made, for the order that the `TransferWithMemo` of the same call names.
    /// @param minter Who minted.
    /// @param to Who received.
    /// @param amount How much, in millionths of a dollar.
    event Mint(address indexed minter, address indexed to, uint256 amount);

    /// @notice Money was redeemed, for the order that the `TransferWithMemo` of the same call names.
    /// @param burner Whose money it was.
    /// @param amount How much, in millionths of a dollar.
    event Burn(address indexed burner, uint256 amount);

    /// @notice Names the order of the `Transfer` before it.
    /// @param from Who sent; zero for a mint.
    /// @param to Who received; zero for a burn.
    /// @param amount How much, in millionths of a dollar.
    /// @param memo The identity of the order.
    event TransferWithMemo(address indexed from, address indexed to, uint256 amount, bytes32 indexed memo);

    /// @notice A minter has a new allowance.
    /// @param minter Who may mint.
    /// @param allowance How much it may mint from now on.
    event MinterConfigured(address indexed minter, uint256 allowance);

    /// @notice An account is no longer a minter. What it minted stays on record.
    /// @param minter Who may not mint any more.
    event MinterRemoved(address indexed minter);

    /// @notice The account can neither send nor receive.
    /// @param account Who was frozen.
    event Frozen(address indexed account);

    /// @notice The account can send and receive again.
    /// @param account Who was released.
    event Unfrozen(address indexed account);

    /// @notice Thrown when the memo is zero, which no order has.
    error ZeroMemo();

    /// @notice Thrown when a mint, a burn or a transfer with a memo has the amount zero.
    error ZeroAmount();

    /// @notice Thrown when this origin has used this memo before.
    error MemoAlreadyUsed(address from, bytes32 memo);

    /// @notice Thrown when the minter may mint `allowance`, which is less than `amount`.
    error MinterAllowanceExceeded(address minter, uint256 allowance, uint256 amount);

    /// @notice Thrown when the minter is the zero address or a frozen account.
    error InvalidMinter(address minter);

    /// @notice Thrown when the account is not a minter.
    error UnknownMinter(address minter);

    /// @notice Thrown when there are `maximum` minters already.
    error TooManyMinters(uint256 maximum);

    /// @notice Thrown when the account is frozen.
    error AccountFrozen(address account);

    /// @notice Thrown when the account is already frozen, or already free.
    error FreezeUnchanged(address account, bool frozen);

    /// @notice Thrown when the signature is not `expected`'s for this call, this token and this chain.
    error InvalidSignature(address expected);

    /// @notice Makes new money for an order.
    /// @param to Who receives.
    /// @param amount How much, not zero and within the caller's allowance as a minter.
    /// @param memo The order's reference, never minted before.
    function mintWithMemo(address to, uint256 amount, bytes32 memo) external;

    /// @notice Destroys the caller's own money: a redeem order. Any holder may.
    /// @param amount How much, not zero.
    /// @param memo The order's reference, not used by the caller before.
    function burnWithMemo(uint256 amount, bytes32 memo) external;

    /// @notice Moves the caller's money for an order.
    /// @param to Who receives.
    /// @param amount How much, not zero.
    /// @param memo The order's reference, not used by the caller before.
    function transferWithMemo(address to, uint256 amount, bytes32 memo) external;

    /// @notice {IERC20Permit-permit} for wallets without a key.
    function permit(address owner, address spender, uint256 value, uint256 deadline, bytes calldata signature) external;

    /// @notice Lets `minter` mint `allowance` from now on, in place of what it was allowed before.
    /// @dev Only the default admin.
    function configureMinter(address minter, uint256 allowance) external;

    /// @notice Lets `minter` mint no more.
    /// @dev Only the default admin.
    function removeMinter(address minter) external;

    /// @notice Stops an account from sending, receiving, spending for others and minting.
    /// @dev Only `FREEZER_ROLE`. A minter loses its allowance, and does not get it back when unfrozen.
    function freeze(address account) external;

    /// @notice Lets an account send, receive and spend for others again.
    /// @dev Only `FREEZER_ROLE`.
    function unfreeze(address account) external;

    /// @notice Stops all mints, burns and transfers.
    /// @dev Only `PAUSER_ROLE`.
    function pause() external;

    /// @notice Lets money move again.
    /// @dev Only `PAUSER_ROLE`.
    function unpause() external;

    /// @notice Whether `from` has used `memo`. Ask with the zero address for mints.
    function isMemoUsed(address from, bytes32 memo) external view returns (bool);

    /// @notice How much more `minter` may mint.
    function minterAllowance(address minter) external view returns (uint256);

    /// @notice The minters there are.
    function minters() external view returns (address[] memory);

    /// @notice Whether the account is frozen.
    function isFrozen(address account) external view returns (bool);

    /// @notice All that was ever minted.
    function totalMinted() external view returns (uint256);

    /// @notice All that was ever burnt. Minted less burnt is the supply.
    function totalBurnt() external view returns (uint256);
}
