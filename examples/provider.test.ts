// cut: contract
import { describe, test } from 'vitest'
import { providerContract } from '../src/testing/index.ts'
import { tickets } from './provider.ts'

describe('tickets keep what is asked of providers [G-50]', () => {
  providerContract({
    test,
    provider: tickets,
    read: { tool: 'list' },
    write: { tool: 'open', input: (text) => ({ text }) },
  })
})
// end
