// Prints which requirements are proven by a test; ends with 1 when the gate is closed. `--json` for machines.
//   npm run coverage:requirements                 the areas
//   npm run coverage:requirements -- knowledge    every row of an area, and the tests that prove it

import { checkRequirements } from '../test/support/requirements.ts'
import { readProject } from '../test/support/source.ts'

const report = checkRequirements(readProject())

const area = report.proofs[process.argv[2] ?? '']

if (process.argv.includes('--json')) print(JSON.stringify(report, null, 2))
else if (area !== undefined) {
  for (const { id, text, tests } of area) print(`${id}  ${text}\n      ${tests.join('  ') || 'no test'}`)
} else {
  const columns = ['rows', 'active', 'proven', 'planned'] as const
  const sums = columns.map((column) => report.areas.reduce((sum, area) => sum + area[column], 0))
  print(line('area', columns))
  for (const area of report.areas)
    print(
      line(
        area.area,
        columns.map((column) => area[column]),
      ),
    )
  print(line('total', sums))
  for (const finding of report.findings) print(finding)
}
process.exitCode = report.findings.length > 0 ? 1 : 0

function line(name: string, cells: readonly (string | number)[]): string {
  return name.padEnd(12) + cells.map((cell) => String(cell).padStart(9)).join('')
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}
