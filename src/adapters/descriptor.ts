import { protocolTypes } from '../gateway/capability.ts'
import type { CapabilityDescriptor } from '../model/capability.ts'
import type { Upstream } from '../model/config/upstream.ts'

type Offered = Upstream['capabilities'][number]['descriptor']
type Metadata = NonNullable<CapabilityDescriptor['metadata']>

/**
 * A capability of an upstream. Whatever its file says, it comes from elsewhere: its words are fenced, and what it
 * answers is remembered by its origin. How far a call reaches out, the file may know better.
 */
export function foreignDescriptor(
  { modes = ['sync'], emits = [], metadata, ...declared }: Offered,
  { credentials = {}, ...from }: Pick<Metadata, 'credentials'> & Required<Pick<Metadata, 'origin' | 'network'>>,
): CapabilityDescriptor {
  const { credentials: _, network = from.network, ...kept } = metadata ?? {}
  return {
    ...declared,
    modes,
    emits: [...new Set([...protocolTypes, ...emits])],
    metadata: {
      ...kept,
      origin: from.origin,
      network,
      ...(Object.keys(credentials).length > 0 && { credentials }),
    },
  }
}

/** Structure has no place for a fence, and clients show it to their models: it is passed on only where the file says so. */
export const isTextOnly = ({ structured_content }: Upstream): boolean => structured_content !== 'unfenced'
