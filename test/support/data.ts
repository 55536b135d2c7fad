import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** The folder of an external data set, or undefined, said once, when `AMBIT_DATA` does not hold it. */
export function dataFolder(name: string): string | undefined {
  const folder = process.env['AMBIT_DATA'] && join(process.env['AMBIT_DATA'], name)
  if (folder && existsSync(folder)) return folder
  process.stderr.write(`skipped: data set \`${name}\` is absent; set AMBIT_DATA to the folder that holds it\n`)
  return undefined
}
