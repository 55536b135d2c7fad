import { runCli } from './run.ts'
import { realIo } from './terminal/real-io.ts'

// Standard output is the answer's, and with `ambit mcp` the client's: what code of the configuration prints goes beside it.
globalThis.console = new console.Console(process.stderr)

process.exitCode = await runCli(process.argv.slice(2), realIo())
