/** For the page of the receipt, which imports only this folder. */
export { checksummed } from '../chain/hex.ts'
