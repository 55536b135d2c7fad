import type { Json } from '../../base/canonical.ts'
import { Failure, quote } from '../../base/failure.ts'
import { capabilityFacts } from '../../gateway/gates/rules.ts'
import { type ConfigSource, loadSettings } from '../settings/config.ts'
import { type Notice, offeredBy } from './upstreams.ts'

/**
 * What rules may read of a capability: all of it where the configuration offers it, otherwise its id. Of several versions
 * the one that is meant has to be said.
 */
export async function capabilityIn(
  source: ConfigSource,
  { id, version }: { readonly id: string; readonly version: unknown },
  notice: Notice,
): Promise<Readonly<Record<string, Json>>> {
  const { hosting } = await loadSettings(source)
  const offered = offeredBy(hosting, notice).flatMap(({ descriptor }) => (descriptor.id === id ? [descriptor] : []))
  const found = offered.length > 1 ? offered.find((each) => each.version === version) : offered[0]
  if (found !== undefined) return capabilityFacts(found) as Record<string, Json>
  if (offered.length === 0) return { id }
  const versions = offered.map((each) => quote(each.version)).join(', ')
  const help = 'say which with `{"capability": {"version": …}}` in the facts'
  throw new Failure('field.invalid', `${quote(id)} is offered in the versions ${versions}`, {}, help)
}
