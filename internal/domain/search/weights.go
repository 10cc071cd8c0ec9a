package search

// Weights are the parameters of a search. Profile describes those that users can change.
type Weights struct {
	Candidates int     // documents by words that are ranked; 0 selects by the limit of the search
	Work       int     // documents that a search by words can read; 0 selects the default of WordOptions
	TimeoutMS  int     // after which a search by words starts no further round
	Weighted   bool    // fusion by scores relative to the best; else by ranks
	RRF        float64 // constant of reciprocal rank fusion
	Lexical    float64 // of the first place by words
	Vector     float64 // of the first place by vector
	MinCosine  float64 // from which on a document is relevant by its vector alone
	Session    float64 // fit of a turn's session, or of a document's own words
	Target     float64 // the query names the target or speaker; also for each turn of a conversation of that speaker
	Day, Month float64 // the document is of the day, or of the month, that the query names
	When       float64 // the query asks when, and the document has words of time
	Question   float64 // subtracted from documents that are questions
	Recent     float64 // of a document of today
	RecentDays float64 // after which Recent has fallen to a third
	Utility    float64 // per unit of utility above 0.5
	Cover      float64 // least share of the query's idf for a document to be relevant by words
	Discussed  float64 // the same for a whole session
	Next       float64 // share of its words that a turn lends to the next one
	Answer     float64 // the same if the turn is a question
	Previous   float64 // and to the one before
	// and to those two places after and before it
	SecondNext, SecondPrevious float64
	Alone                      float64 // factor of documents that are not turns and have no neighbors
	// Types are factors of memories by type; 1 for others. Of equally relevant memories, what
	// was stated comes before what was summarized.
	Types     map[string]float64
	Duplicate float64 // Jaccard similarity of words from which on documents are duplicates
	Diversity float64 // lambda of maximal marginal relevance; 1 is off
}

// DefaultWeights returns the weights that were chosen on LoCoMo (docs/reference/benchmarks-retrieval.md).
func DefaultWeights() Weights {
	return Weights{
		TimeoutMS:  2000,
		RRF:        30,
		Lexical:    1,
		Vector:     0.8,
		MinCosine:  0.35,
		Session:    0.7,
		Target:     0.4,
		Day:        0.8,
		Month:      0.4,
		When:       0.3,
		Question:   0.1,
		Recent:     0.05,
		RecentDays: 30,
		Utility:    0.1,
		Cover:      0.15,
		Discussed:  0.3,
		Next:       0.3,
		Answer:     0.7,
		Previous:   0.4,
		SecondNext: 0.2, SecondPrevious: 0.2,
		Alone:     2.1,
		Types:     map[string]float64{"procedural": 0.9, "tool": 0.9, "summary": 0.6},
		Duplicate: 0.9,
		Diversity: 1,
	}
}
