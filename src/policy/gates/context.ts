import type { CollectedContext } from '../contract.ts'
import { type Gate, refuse } from './refusal.ts'

/** Gate 6: the context contract. Fields are named and places given; no value ever is. */
export const context: Gate<{ readonly context: CollectedContext }> = ({
  context: { undeclared, missing, problems },
}) => {
  if (undeclared.length > 0)
    return refuse('policy', 'input_schema_validation_failed', {
      message: 'the context has members that the contract does not declare',
      details: { part: 'context', undeclared: [...undeclared] },
    })
  if (missing.length > 0)
    return refuse('policy', 'evidence_required', {
      message: 'the context lacks fields that the contract demands',
      details: {
        decision: 'requires_more_evidence',
        missing: [...missing],
        required_next_action: 'send the missing fields with a new `invocation_id`',
      },
    })
  const [problem] = problems
  if (problem === undefined) return undefined
  return refuse('policy', 'input_schema_validation_failed', {
    message: 'a field of the context is not what the contract says',
    details: { part: 'context', path: problem.path, keyword: problem.keyword },
  })
}
