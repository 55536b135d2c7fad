import type { IssuedKey } from '../../model/identity/key.ts'
import { type Io, line, paint, printJson } from '../terminal/io.ts'

/** The one time a key is shown. */
export function printIssued(io: Io, { json }: { readonly json?: boolean }, issued: IssuedKey) {
  if (json) return printJson(io, issued)
  line(io, `key ${issued.key_id} for \`${issued.principal_id}\`, shown this once:`)
  line(io, `\n  ${paint(io, 'bold', issued.secret)}\n`)
  line(io, 'keep it like a password; put it into AMBIT_KEY to use it here')
}
