import { contracts } from '../model/schemas.ts'
import type { Operation } from './operation.ts'

/** What an operation does, in a sentence. */
export const summaryOf = ({ summary, route, input, output }: Operation): string =>
  summary ?? contracts[route.startsWith('GET') ? output : input]?.description ?? ''
