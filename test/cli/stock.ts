// The stock keeper's folder: the example's configuration, its packs published, its controller known.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { scenario } from '../support/contract.ts'
import { projectRoot } from '../support/source.ts'
import { administering, givenKey, givenShell, type Shell } from './harness.ts'

export interface Stock {
  /** The administrator's shell. */
  readonly shell: Shell
  /** The controller who decides about high amounts. */
  readonly cora: Shell
  /** Writes a request to a file, under an id of its own. */
  ask(file: string, amountMinor: number, change?: (text: string) => string): string
}

export async function givenStock(): Promise<Stock> {
  const empty = givenShell()
  const write = (file: string, text: string) => writeFileSync(join(empty.cwd, file), text)
  const config = readFileSync(join(projectRoot, 'examples/write-off/ambit.config.ts'), 'utf8')
  write('ambit.config.ts', config.replace("'../../src/index.ts'", "'ambit'"))
  const shell = await administering(empty, 'tenant_fjordvik', '--root', 'fjordvik')
  for (const [name, ...more] of [['catalog'], ['pack', '--beside', 'decision-catalog.stock@1.4.0']]) {
    write(`${name}.yaml`, scenario(`${name}.yaml`))
    write(`${name}.json`, (await shell.good('pack', 'sign', `${name}.yaml`)).out)
    await shell.good('pack', 'publish', `${name}.json`, ...more)
  }
  await shell.good('principal', 'create', 'cora')
  await shell.good('approver', 'add', 'cora', '--role', 'controller')
  const { secret } = await givenKey(shell, 'cora')
  return {
    shell,
    cora: shell.with({ env: { AMBIT_KEY: secret } }),
    ask: (file, amountMinor, change = (text) => text) => {
      const text = scenario('request.yaml').replace('req_5120', `req_${file}`).replace('640000', String(amountMinor))
      write(`${file}.yaml`, change(text))
      return `${file}.yaml`
    },
  }
}
