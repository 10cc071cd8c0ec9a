package lexical

// Pivot is the document length, in terms, at which weights are neither raised nor lowered. BM25
// uses the mean of the collection. A fixed pivot keeps stored weights valid while a workspace
// grows. A dialogue turn has 12.4 terms on average, a memory about as many, and summaries and
// skills far more. On LoCoMo's turns, 20 has a slightly higher recall@10 than 12 (0.607 against
// 0.600). A change of Pivot requires rewriting every posting.
const Pivot = 20

// Usual constants of BM25 (Robertson and Zaragoza 2009, §3.5 and §4.5).
const (
	saturation   = 1.2 // k1
	lengthEffect = 0.75
)

// Weight returns the part of BM25 that a posting stores, without the term's rarity: tf·(k1+1) / (tf
// + k1·(1-b + b·len/Pivot)). It is between 0 and 2.2.
func Weight(tf, docLen int) float32 {
	if tf <= 0 {
		return 0
	}
	count := float64(tf)
	norm := 1 - lengthEffect + lengthEffect*float64(max(docLen, 0))/Pivot
	return float32(count * (saturation + 1) / (count + saturation*norm))
}
