import { examine } from '../../runtime/doctor/doctor.ts'
import type { Finding } from '../../runtime/doctor/finding.ts'
import { type CommonOptions, sourceOf, withStore } from '../session.ts'
import { found, type Io, line, paint, plain, printJson, progress, type Register } from '../terminal/io.ts'

export default ((command, io) => {
  withStore(command)
    .option('--deep', 'read every record and recompute every hash as well')
    .action(async (options: CommonOptions & { deep?: boolean }) => {
      const findings: Finding[] = []
      const onProgress = (tenant: string, events: number) =>
        progress(io, `${tenant}: ${events.toLocaleString('en-US')} records checked`)
      for await (const finding of examine(sourceOf(io, options), { deep: options.deep === true, onProgress })) {
        findings.push(finding)
        progress(io)
        if (!options.json) print(io, finding)
      }
      if (options.json) printJson(io, findings)
      if (findings.some((finding) => finding.verdict === 'fail')) found(io)
    })
}) satisfies Register

const marks = { ok: ['green', 'ok  '], warn: ['yellow', 'note'], fail: ['red', 'FAIL'] } as const

function print(io: Io, { check, verdict, message, help }: Finding): void {
  const [color, mark] = marks[verdict]
  line(io, `${paint(io, color, mark)}  ${check.padEnd(14)}${plain(message)}`)
  if (help !== undefined) line(io, `${' '.repeat(20)}→ ${help}`)
}
