import { realIo } from './real-io.ts'
import { runCli } from './run.ts'

process.exitCode = await runCli(process.argv.slice(2), realIo())
