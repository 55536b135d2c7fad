import { z } from 'zod'
import { tenantIdText } from './tenant.ts'
import { line } from './text.ts'

const sqliteStore = z.strictObject({
  driver: z.literal('sqlite'),
  path: line.optional(),
  durability: z.enum(['full', 'normal']).optional(),
})

/** The address, or the name of the environment variable that holds it. */
const postgresStore = z.strictObject({
  driver: z.literal('postgres'),
  url: line.optional(),
  urlEnv: line.optional(),
})

/**
 * What `ambit.config.ts` or `ambit.config.json` may say, in the library's spelling. Every member may be left out, and
 * a member we do not know is refused: a misspelt setting must not silently be the default. Closed at every level.
 */
export const config = z.strictObject({
  store: z.discriminatedUnion('driver', [sqliteStore, postgresStore]).optional(),
  dataDir: line.optional(),
  keys: z.strictObject({ dir: line.optional(), passphraseEnv: line.optional() }).optional(),
  tenant: tenantIdText.optional(),
  checkpoint: z.strictObject({ everyEvents: z.int().min(1).optional(), everyMs: z.int().min(1).optional() }).optional(),
})

export type Config = z.infer<typeof config>
