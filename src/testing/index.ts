export { countingIds, type FakeClock, fakeClock } from './ports.ts'
export { type ProviderSuite, providerContract } from './provider-contract.ts'
export { type ScriptedModel, scriptedModel } from './scripted-model.ts'
export { type FreshStore, type StorageSuite, storageContract } from './storage-contract.ts'
