import type { IssuedKey } from '../../model/identity/key.ts'
import { type Io, line, paint } from '../terminal/io.ts'

/** The one time a key is shown. */
export function printIssued(io: Io, { key_id, principal_id, secret }: IssuedKey): void {
  line(io, `key ${key_id} for \`${principal_id}\`, shown this once:`)
  line(io, `\n  ${paint(io, 'bold', secret)}\n`)
  line(io, 'keep it like a password; put it into AMBIT_KEY to use it here')
}
