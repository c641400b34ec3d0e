/** For the receipt's page, which stands on this folder alone. */
export { checksummed } from '../chain/hex.ts'
