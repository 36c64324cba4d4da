//! The sentences of made-up proposals. A word in braces is a slot that [`super::prose`] fills.

/// Titles of projects and of articles.
pub const TITLES: &[&str] = &[
    "Towards {measure}: {topic} in {place}",
    "Development and field validation of {topic} for {people} of {place}",
    "Enhancing {measure} through {topic} in {place}",
    "Feasibility of {topic}: a {months}-month study in {place}",
    "Effects of {topic} on {measures}",
    "Scaling up {topic} with {people} in {count} barangays",
    "Assessment of {topic} in typhoon-prone municipalities of {place}",
    "{measures} under {topic}: evidence from {place}",
    "Pagpapalakas ng {topic} sa {place}",
];

/// What is known and what is not: background, significance, literature.
pub const BACKGROUND: &[&str] = &[
    "{author} examined {topic} in {place} and reported {measure} that ranged from {small} to {count} units over {months} months, but did not separate the effect of season.",
    "{author} described a low-cost approach for {topic} with an accuracy of {decimal} %, although its maintenance needs under humid field conditions were left open.",
    "A review of {count} studies by {author} found that only {percent} % presented sex-disaggregated data, and fewer still linked {topic} to household income.",
    "In contrast, {author} observed no significant change in {measure} after {small} weeks, which they attributed to the small number of replications (n = {small}).",
    "Using remote sensing, {author} mapped {count} hectares and estimated a loss rate of {decimal} % per year, with the largest uncertainty in cloud-prone areas.",
    "Laboratory results of {author} at 37 °C could not be reproduced under ambient storage, where {measure} fell by {percent} % after {small} weeks.",
    "{author} argued that adoption of {topic} depends less on technical performance than on tenure, labour calendars and access to credit, a point echoed in {place}.",
    "The national roadmap identifies {topic} as a priority, with a target of {percent} % improvement within {small} years; baseline figures, however, are from {year}.",
    "Taken together, these studies leave two gaps: long-term observations of {measure} in {place}, and a cost model that small institutions can use.",
    "According to {agency}, {people} in {place} lose about ₱{count},000 a year for want of reliable data on {measure}.",
    "“{topic} works only where {people} decide on it themselves,” concluded {author} after {small} years in {place}.",
    "Only {percent} % of {people} interviewed in {place} had heard of {topic}, and fewer than one in {small} had tried it.",
    "Yet none of the {count} records that {agency} holds for {place} reports {measures} together.",
];

/// How the work is done.
pub const METHODS: &[&str] = &[
    "A randomized complete block design with {small} treatments and {small} replications will be followed; each experimental unit measures {count} m² and is separated by a 0.5 m alley.",
    "{count} sampling stations will be laid out along {small} transects in {place}, each georeferenced with a handheld GNSS receiver (±3 m) and revisited every {small} weeks.",
    "Key informant interviews (n = {count}) and {small} focus group discussions, held separately for women and men, will document practices, constraints and access to resources.",
    "The instrument will be pretested with {count} {people} in a neighbouring barangay; items with Cronbach's α below 0.{percent} will be revised or dropped.",
    "Ethics clearance will be obtained from the institutional ethics review committee before any participant is enrolled; written informed consent will be in Filipino and in {language}.",
    "Analysis of variance will be run at α = 0.05; where F is significant, means are compared with Tukey's HSD, and residuals are checked with the Shapiro–Wilk and Levene tests.",
    "A generalized linear mixed model with site as random effect will be fitted to {measure}; candidate models are ranked by AICc and those within ΔAICc < {small} are averaged.",
    "Training of {count} {people} ({percent} % women) will run in {small} batches of {small} days each, with a pre-test and a post-test on the same {small} items.",
    "Composite samples of about {count} g will be kept at 4 °C and brought to the laboratory within {percent} hours of collection.",
    "Data will be encoded in a relational database with double entry of {percent} % of the records, and discrepancies above {small} % will trigger full re-encoding.",
    "A partial budget and a benefit–cost analysis over {small} seasons will compare {topic} with the present practice at prices of ₱{decimal} per unit.",
    "{agency} will verify {small} milestones of the workplan every quarter; deviations above {percent} days are reported with a catch-up plan.",
    "The prototype (v{decimal}) will be bench-tested for {percent} h of continuous operation at {percent} % rated load before deployment with the cooperators in {place}.",
    "Baseline values of {measure} will be taken in {place} before the intervention, and again after {months} months, by enumerators who do not know the assignment.",
];

/// What the project as a whole is to achieve.
pub const GENERAL_OBJECTIVES: &[&str] = &[
    "To develop and validate {topic} suited to conditions in {place}.",
    "To raise {measure} of {people} in {place} at a cost that local governments can sustain.",
    "To produce and release open resources on {topic} for use by {agency}.",
    "To establish whether {topic} improves {measure} in {place} within {months} months.",
];

/// What it is to achieve in particular.
pub const SPECIFIC_OBJECTIVES: &[&str] = &[
    "Establish the baseline of {measure} in {place}.",
    "Compare alternatives for {topic} in terms of {measure}.",
    "Validate the best option with at least {count} {people}, half of them women.",
    "Estimate {measure} and prepare a technology brief.",
    "Train {count} {people} in {place}.",
    "Draft a model ordinance on {topic} for {small} municipalities.",
    "Publish the data set of {measure} under an open licence.",
];

/// How the results live on.
pub const SUSTAINABILITY: &[&str] = &[
    "{agency} will include {topic} in its annual investment programme from the second year on.",
    "The {people} of {place} have agreed to set aside {percent} % of their sales for maintenance and replacement.",
    "A memorandum of agreement with {agency} turns the equipment over to the local government when the project ends.",
    "Trainers from among the {people} will be certified, so that new members are trained without outside funds.",
    "Manuals in {language} and Filipino stay with the barangay councils, and a helpline is kept by {agency} for {months} months.",
];

/// What comes out.
pub const OUTCOMES: &[&str] = &[
    "{small} refereed articles on {topic}, one policy brief and one utility model application.",
    "A validated package of technology on {topic}, adopted by {count} {people} in {place}.",
    "{percent} % of the trained {people} still apply {topic} {months} months after the training.",
    "An open data set of {measures} from {count} stations, updated by {agency}.",
    "Partnerships with {agency} and {small} local governments, each with a signed memorandum.",
];

/// What it does for people.
pub const SOCIAL_IMPACTS: &[&str] = &[
    "Fewer hours of unpaid work for women, who now spend {small} hours a day on what {topic} makes easier.",
    "{people} in {place} take part in decisions on {measure} that were taken without them before.",
    "About {count} households in {place} are better prepared for typhoons and dry spells.",
    "Indigenous communities keep control over what they know about {topic}, under a written agreement.",
    "Young people see a livelihood at home: {percent} % of the trainees are below 30.",
];

/// What it does for the economy.
pub const ECONOMIC_IMPACTS: &[&str] = &[
    "Net income of {people} rises by ₱{count},000 a year, with a payback period of {ratio} years.",
    "Losses fall from {percent} % to {small} %, worth ₱{decimal} M a year in {place} alone.",
    "{small} micro-enterprises around {topic} are registered within {months} months and employ {count} people.",
    "At an adoption of {percent} %, the benefit–cost ratio is {ratio}; it stays above one if prices fall by {percent} %.",
    "Imports worth ₱{decimal} M are replaced by local production.",
];

/// What it does not do.
pub const LIMITATIONS: &[&str] = &[
    "The study is limited to {place} and to {topic}; results may not hold under other soil, climate or market conditions.",
    "Attendance depends on ferry schedules and weather, and {small} of the sites have no reliable signal.",
    "{measure} is measured during {months} months only, so effects of El Niño years are not covered.",
    "Self-reported income of {people} is subject to recall error, which the design reduces but does not remove.",
];

/// Why a line item is needed.
pub const JUSTIFICATIONS: &[&str] = &[
    "For the activities on {topic} in {place}, at the rates of {agency}.",
    "Needed for {count} {people} in {small} barangays; canvass of {year} from three suppliers attached.",
    "Quantity follows from {small} sites with {small} visits each; the implementing agency has none of its own.",
    "Covers the measurement of {measure} during the first {months} months, including delivery to {place}.",
];
