import { Failure, quote } from '../../base/failure.ts'
import { atDoor, type DoorOptions, keyOf, withDoor } from '../door.ts'
import { registerDrift } from '../hosting/drift.ts'
import { registerImport } from '../hosting/import.ts'
import { line, printJson, type Register } from '../terminal/io.ts'
import { printCapabilities, printCard } from './capability-card.ts'
import { likeOf } from './capability-like.ts'

const register: Register = (capabilities, io) => {
  withDoor(capabilities.command('list'))
    .description('what you may call, and what its policy says before you do')
    .action((options: DoorOptions) =>
      atDoor(io, options, async (door) => {
        const found = await door.capabilities()
        if (options.json) return printJson(io, { host_id: door.hostId, capabilities: found })
        printCapabilities(
          io,
          door.hostId,
          found,
          keyOf(io, options) === undefined ? noneListed : 'none that this key may call',
        )
      }),
    )

  withDoor(capabilities.command('show <capability>'))
    .description('one capability: lifecycle, policy, context fields; every version of it')
    .action((id: string, options: DoorOptions) =>
      atDoor(io, options, async (door) => {
        const found = (await door.capabilities()).filter((each) => each.id === id)
        if (found.length === 0)
          throw new Failure('capability.not_found', `capability ${quote(id)} not found`, { id }, await likeOf(door, id))
        if (options.json) return printJson(io, { host_id: door.hostId, capabilities: found })
        for (const [index, each] of found.entries()) {
          if (index > 0) line(io)
          printCard(io, door.hostId, each)
        }
      }),
    )
  registerImport(capabilities, io)
  registerDrift(capabilities, io)
}
export default register

const noneListed = 'none: list them as `capabilities` in the configuration, see `ambit init`'
