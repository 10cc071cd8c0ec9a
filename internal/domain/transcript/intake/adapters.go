package intake

// adapters returns the adapters of all formats.
func adapters() []Adapter {
	return []Adapter{
		openAIChat(),
		tauBench(),
		plainText(),
		anthropic(),
		claudeCode(),
		codex(),
		responses(),
		langChain(),
		langGraph(),
		shareGPT(),
		hermes(),
		gemini(),
		chatGPT(),
		sweAgent(),
		openHands(),
		atif(),
		otelGenAI(),
		openInference(),
		langfuse(),
		liteLLM(),
	}
}
