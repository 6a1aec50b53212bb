"""Words and templates of the word problems: data only, read by `word_problems`.

A template is a tuple of sentences; `|` separates interchangeable phrasings of one sentence.
Slots in braces are filled by name ({name}, {They}, {item}, ...) or number ({a}, {b}, ...).
`[t=a*b]` in a solution sentence is a calculation step: it is written out as "3 * 4 = 12" and
makes {t} known to later sentences. The steps live only there, so text and arithmetic agree.
All phrasings name the given numbers in the order of `given`, so a question shows its key.
Every quantity is at least 2, which is why each noun is needed in the plural only.
"""

# ruff: noqa: E501  (a sentence and its phrasings stay on one line)

from typing import NamedTuple


class Story(NamedTuple):
    family: str
    group: str  # which of ITEMS fills {item} and {other}
    given: str  # "a=2-9" draws a from 2..9, small values more often
    question: tuple[str, ...]
    solution: tuple[str, ...]


class Event(NamedTuple):
    """One link of a chain: it turns the quantity {before} into {after}."""

    given: str
    question: str
    solution: tuple[str, ...]


PRONOUNS = {
    "f": {"They": "She", "they": "she", "Their": "Her", "their": "her", "them": "her"},
    "m": {"They": "He", "they": "he", "Their": "His", "their": "his", "them": "him"},
}

NAMES = {
    "train": {
        "f": "Mia Anna Emma Lily Zoe Nora Ella Ruby Ivy Clara Alice Lucy Sofia Maya Julia Eva Rosa "
        "Lena Nina Tara Amy Kate Jane Sara Leah Hana Aisha Mei Priya Fatima Olga Ingrid Carmen "
        "Paula Wendy",
        "m": "Leo Ben Tom Sam Max Noah Liam Jack Adam Owen Luke Paul Omar Ali Ravi Kenji Hugo Oscar "
        "Felix Ivan Juan Diego Marco Peter Simon David Daniel Henry Eric Theo Finn Karl Amir "
        "Victor George",
    },
    "test": {
        "f": "Grace Hazel Stella Yara Bianca Freya Greta Matilda Naomi Sienna Thea Vera",
        "m": "Arthur Boris Caleb Dylan Elias Gavin Isaac Jonas Milo Rohan Silas Wesley",
    },
}

ITEMS = {
    "school": "pencils pens crayons markers notebooks erasers rulers folders stamps brushes",
    "toys": "marbles stickers blocks cards dolls balls beads kites puzzles robots",
    "fruit": "apples pears plums oranges lemons peaches cherries berries mangoes figs",
    "baked": "cookies muffins rolls pies buns biscuits pancakes cupcakes pretzels tarts",
    "finds": "shells stones leaves feathers acorns buttons coins ribbons postcards badges",
    "plants": "roses tulips lilies carrots onions tomatoes beans daisies melons pumpkins",
}

POOLS = {
    "box": (("box", "boxes"), ("bag", "bags"), ("pack", "packs"), ("basket", "baskets")),
    "beast": (("cow", "cows"), ("horse", "horses"), ("goat", "goats"), ("pig", "pigs")),
    "bird": (("hen", "hens"), ("duck", "ducks"), ("turkey", "turkeys")),
    "kin": (("brother", "brothers"), ("sister", "sisters"), ("cousin", "cousins")),
}

STORIES = (
    Story("handout", "school", "a=2-12 b=2-12 c=2-40", (
        "{name} buys {a} {boxes} of {item} for the class.|For the class, {name} buys {a} {boxes} of {item}.",
        "Each {box} holds {b} {item}.|There are {b} {item} in each {box}.",
        "On Monday {they} hands out {c} of the {item} to the children.|{They} hands out {c} {item} on Monday.",
        "How many {item} does {name} have left?|How many {item} are left?"), (
        "The {a} {boxes} hold [t=a*b] {item}.",
        "After {they} hands out {c}, there are [r=t-c] {item} left.")),
    Story("sharing", "baked", "a=2-40 b=2-40 n=2-10 c=2-6", (
        "{name} brings {a} {item} to the picnic, and {friend} brings {b} {item}.|{name} has {a} {item} and {friend} has {b} {item}.",
        "They put all the {item} together and share them equally among {n} children.|All the {item} are shared equally among {n} children.",
        "Each child eats {c} {item} and takes the rest home.|Then each child eats {c} of the {item}.",
        "How many {item} does each child have left?"), (
        "Together they have [t=a+b] {item}.",
        "Each child gets [q=t/n] {item}.",
        "After eating {c}, each child has [r=q-c] {item} left.")),
    Story("giving", "finds", "a=2-40 b=2-30 c=2-30 d=2-20", (
        "{name} has {a} {item} in a jar.|{name} keeps {a} {item} in a jar.",
        "At the beach {they} finds {b} more {item}.|{They} finds {b} more {item} on a walk.",
        "{They} gives {c} {item} to {friend} and {d} {item} to {their} {kin}.|Then {they} gives {c} of them to {friend} and {d} to {their} {kin}.",
        "How many {item} does {name} have now?|How many {item} are left for {name}?"), (
        "{name} finds {b} more, so {they} has [t=a+b] {item}.",
        "After giving {c} to {friend}, {they} has [u=t-c] {item}.",
        "After giving {d} to {their} {kin}, {they} has [r=u-d] {item} left.")),
    Story("baking", "baked", "a=2-10 b=2-12 c=2-30 n=2-10", (
        "{name} bakes {a} trays of {item} with {b} {item} on each tray.|{name} fills {a} trays with {b} {item} each and bakes them.",
        "{Their} family eats {c} of the {item} after dinner.|At dinner the family eats {c} {item}.",
        "{name} puts the rest equally on {n} plates.|The other {item} are placed equally on {n} plates.",
        "How many {item} are on each plate?"), (
        "{name} bakes [t=a*b] {item}.",
        "After the family eats {c}, there are [u=t-c] {item} left.",
        "Each plate holds [r=u/n] {item}.")),
    Story("saving", "toys", "c=2-30 a=2-12 b=2-12 d=5-60", (
        "{name} has {c} dollars in a jar and wants to buy some {item}.|{name} wants to buy some {item} and already has {c} dollars.",
        "Every week {they} saves {a} dollars, and {they} does this for {b} weeks.|{They} saves {a} dollars a week for {b} weeks.",
        "Then {they} pays {d} dollars for the {item}.|The {item} cost {d} dollars.",
        "How many dollars does {name} have left after that?"), (
        "{name} saves [t=a*b] dollars.",
        "With the money in the jar, {they} has [u=c+t] dollars.",
        "After paying {d}, {they} has [r=u-d] dollars left.")),
    Story("reading", "toys", "p=20-100 a=2-12 b=2-8 c=2-30", (
        "{name} is reading a book about {item} that has {p} pages.|{name} gets a book with {p} pages about {item}.",
        "{They} reads {a} pages a day for {b} days.|{They} reads {a} pages each day, and {they} does this for {b} days.",
        "On Sunday {they} reads {c} more pages.|Then {they} reads {c} more pages on Sunday.",
        "How many pages does {name} still have to read?|How many pages are left to read?"), (
        "In {b} days {name} reads [t=a*b] pages.",
        "With Sunday, {they} reads [u=t+c] pages.",
        "There are [r=p-u] pages left to read.")),
    Story("garden", "plants", "a=2-9 b=2-12 c=2-9 d=2-12 e=2-20", (
        "{name} plants {a} rows of {item} with {b} in each row.|In the garden {name} plants {a} rows of {b} {item}.",
        "{Their} {kin} plants {c} rows of {item} with {d} in each row.|{Their} {kin} adds {c} rows with {d} {item} in each.",
        "A storm breaks {e} of the {item}.|Rabbits eat {e} of the {item}.",
        "How many {item} are left in the garden?"), (
        "{name} plants [t=a*b] {item}.",
        "The {kin} plants [u=c*d] {item}.",
        "Together they plant [v=t+u] {item}.",
        "After losing {e}, there are [r=v-e] {item} left.")),
    Story("bus", "school", "a=5-40 b=2-20 c=2-30 d=2-20", (
        "There are {a} people on a bus when {name} starts to drive.|{name} drives a bus with {a} people on it.",
        "At the first stop {b} people get on and {c} people get off.|At the park {b} people get on and {c} get off.",
        "At the next stop {d} more people get on.|Then {d} more people get on at the school.",
        "How many people are on the bus now?"), (
        "After {b} people get on, there are [t=a+b] people.",
        "After {c} get off, there are [u=t-c] people.",
        "After {d} more get on, there are [r=u+d] people on the bus.")),
    Story("compare", "toys", "a=3-10 b=2-12 c=2-9 d=2-12", (
        "{name} and {friend} both collect {item}.|Two friends, {name} and {friend}, like {item}.",
        "{name} has {a} {boxes} with {b} {item} in each {box}.|{name} owns {a} {boxes} of {b} {item} each.",
        "{friend} has {c} {boxes} with {d} {item} in each {box}.|{friend} owns {c} {boxes} of {d} {item} each.",
        "How many more {item} does {name} have than {friend}?"), (
        "{name} has [t=a*b] {item}.",
        "{friend} has [u=c*d] {item}.",
        "{name} has [r=t-u] more {item} than {friend}.")),
    Story("ages", "toys", "a=4-9 b=3-8 c=2-30", (
        "{name} is {a} years old and likes to play with {item}.|{name}, who loves {item}, is {a} years old.",
        "{Their} {kin} is {b} years older than {name}.|{name} has a {kin} who is {b} years older.",
        "{Their} mother is three times as old as the {kin}.|The {kin} and the mother live in one house, and the mother is three times as old as the {kin}.",
        "How old will the mother be in {c} years?|In {c} years, how old will the mother be?"), (
        "The {kin} is [u=a+b] years old.",
        "The mother is [v=3*u] years old.",
        "In {c} years she will be [r=v+c] years old.")),
    Story("picking", "fruit", "a=2-12 h=2-8 b=2-40 n=2-10", (
        "{name} and {friend} pick {item} on a farm.|On a farm, {name} and {friend} are picking {item}.",
        "{name} picks {a} {item} an hour for {h} hours.|{name} picks {a} {item} every hour and works for {h} hours.",
        "{friend} picks {b} {item} in all.|In the same time {friend} picks {b} {item}.",
        "They put {n} {item} in each {box}.|Each {box} holds {n} {item}.",
        "How many {boxes} do they fill together?|How many {boxes} do they need for all the {item}?"), (
        "{name} picks [t=a*h] {item}.",
        "Together they pick [u=t+b] {item}.",
        "They fill [r=u/n] {boxes}.")),
    Story("halves", "toys", "a=2-8 b=2-12 c=2-40", (
        "{name} buys {a} {boxes} of {item} at the store.|At the store {name} gets {a} {boxes} of {item}.",
        "Each {box} has {b} {item} in it.|There are {b} {item} in every {box}.",
        "{They} gives half of the {item} to {friend}.|Half of the {item} go to {friend}.",
        "Later {their} {kin} gives {them} {c} more {item}.|Then {they} gets {c} more {item} from {their} {kin}.",
        "How many {item} does {name} have now?"), (
        "{name} buys [t=a*b] {item}.",
        "Half of them is [u=t/2] {item}.",
        "With {c} more, {name} has [r=u+c] {item}.")),
    Story("legs", "plants", "a=2-12 b=2-12 f=4-4 g=2-2", (
        "On the farm of {name} there are {a} {beasts} and {b} {birds}.|{name} looks after {a} {beasts} and {b} {birds} on a farm.",
        "Each {beast} has {f} legs and each {bird} has {g} legs.|Every {beast} has {f} legs and every {bird} has {g} legs.",
        "{name} counts all the legs of the animals in the field of {item}.|One day the animals walk into the {item} and {name} counts their legs.",
        "How many legs are there in all?|How many legs does {name} count?"), (
        "The {beasts} have [t=a*f] legs.",
        "The {birds} have [u=b*g] legs.",
        "In all there are [r=t+u] legs.")),
    Story("teams", "toys", "a=4-40 b=4-40 n=2-10 c=2-12", (
        "{a} girls and {b} boys come to the sports day of {name}.|{name} plans a sports day for {a} girls and {b} boys.",
        "They form teams of {n} children.|The children make teams with {n} children in each team.",
        "Every team gets {c} {item} as a prize.|{name} gives {c} {item} to each team.",
        "How many {item} does {name} need for all the teams?|How many {item} are needed?"), (
        "There are [t=a+b] children.",
        "They make [q=t/n] teams.",
        "The teams need [r=q*c] {item}.")),
    Story("tickets", "toys", "e=20-100 c=2-8 a=2-12 d=2-8 b=2-12", (
        "{name} has {e} dollars to take a group to the zoo.|{name} takes a group to the zoo and has {e} dollars.",
        "{They} buys {c} big tickets for {a} dollars each.|First {they} buys {c} big tickets that cost {a} dollars each.",
        "{They} also buys {d} small tickets for {b} dollars each.|Then {they} buys {d} small tickets at {b} dollars each.",
        "How many dollars does {name} have left?"), (
        "The big tickets cost [t=c*a] dollars.",
        "The small tickets cost [u=d*b] dollars.",
        "All tickets cost [v=t+u] dollars.",
        "{name} has [r=e-v] dollars left.")),
    Story("packing", "fruit", "a=5-60 b=2-40 n=2-12 k=2-12", (
        "{name} has {a} {item} and gets {b} more {item} from {friend}.|{name} picks {a} {item}, and {friend} brings {b} more {item}.",
        "{They} puts the {item} into {boxes} with {n} {item} in each {box}.|{They} puts {n} {item} into each {box}.",
        "{They} fills {k} {boxes} and keeps the other {item} at home.|After {they} fills {k} {boxes}, {they} stops.",
        "How many {item} are not packed?|How many {item} are not in {boxes}?"), (
        "{name} has [t=a+b] {item}.",
        "The {k} {boxes} hold [u=k*n] {item}.",
        "[r=t-u] {item} are not packed.")),
    Story("walking", "finds", "a=2-6 b=2-9 c=2-30", (
        "{name} walks {a} miles to school and looks for {item} on the way.|To get to school, {name} walks {a} miles past fields.",
        "Every day {they} makes this walk twice, once there and once back.|{They} takes this walk twice a day.",
        "{They} does this on {b} days, and then {they} walks {c} miles on a trip.|After {b} school days, {they} walks {c} more miles to find {item}.",
        "How many miles does {name} walk in all?"), (
        "Each day {name} walks [t=2*a] miles.",
        "In {b} days {they} walks [u=b*t] miles.",
        "With the other {c} miles, {they} walks [r=u+c] miles in all.")),
    Story("trip", "fruit", "a=2-9 b=2-12 c=2-12 d=2-60", (
        "{a} vans take a school on a trip, and each van has {b} children.|For a school trip there are {a} vans with {b} children in each van.",
        "{c} teachers come along too.|There are also {c} teachers on the trip.",
        "Everyone should get one of the {item}, but {name} has only {d} {item}.|{name} wants one of the {item} for everyone but has only {d} {item}.",
        "How many more {item} does {name} need?"), (
        "The vans carry [t=a*b] children.",
        "With the teachers, there are [u=t+c] people.",
        "{name} needs [r=u-d] more {item}.")),
    Story("aquarium", "finds", "a=2-9 b=2-12 c=2-20 d=2-20 e=2-30", (
        "{name} has a shop with {a} tanks, and each tank has {b} fish and some {item}.|In the shop of {name} there are {a} tanks with {b} fish each.",
        "On Saturday {they} sells {c} fish, and on Sunday {they} sells {d} fish.|{They} sells {c} fish on Saturday and {d} fish on Sunday.",
        "On Monday {they} buys {e} new fish.|Then {e} new fish come on Monday.",
        "How many fish are in the shop now?"), (
        "The tanks hold [t=a*b] fish.",
        "After Saturday there are [u=t-c] fish.",
        "After Sunday there are [v=u-d] fish.",
        "After Monday there are [r=v+e] fish.")),
    Story("colors", "toys", "a=2-12 c=2-20 b=2-30", (
        "{name} has {a} red {item} in a {box}.|In a {box} {name} has {a} red {item}.",
        "{They} has twice as many blue {item} as red {item}.|There are twice as many blue {item} as red ones.",
        "{They} loses {c} of the {item} at the park, but {friend} gives {them} {b} green ones.|{They} loses {c} {item}, and then {friend} gives {them} {b} green {item}.",
        "How many {item} does {name} have in the end?"), (
        "There are [u=2*a] blue {item}.",
        "Red and blue together make [t=a+u] {item}.",
        "After losing {c}, {name} has [v=t-c] {item}.",
        "With the green ones, {they} has [r=v+b] {item}.")),
    Story("eggs", "baked", "a=2-9 b=2-9 n=2-9 c=2-30 k=2-10 e=2-10", (
        "{name} gets {a} eggs every morning and {b} eggs every evening.|Every day the hens of {name} lay {a} eggs in the morning and {b} in the evening.",
        "After {n} days {they} uses {c} eggs to bake {item}.|{They} does this for {n} days and then uses {c} eggs for {item}.",
        "{They} packs the rest in {boxes} of {k} eggs and sells {e} {boxes}.|The other eggs go into {boxes} of {k} eggs, and {e} {boxes} are sold.",
        "How many {boxes} are left?"), (
        "Each day there are [d=a+b] eggs.",
        "In {n} days there are [t=d*n] eggs.",
        "After baking, [u=t-c] eggs are left.",
        "They fill [v=u/k] {boxes}.",
        "After selling {e}, there are [r=v-e] {boxes} left.")),
    Story("party", "toys", "a=2-12 b=2-6 c=2-6 d=2-40", (
        "{name} invites {a} friends to a party.|{a} friends come to the party of {name}.",
        "Each friend should get {b} {item} and {c} {other}.|{They} wants to give each friend {b} {item} and {c} {other}.",
        "{name} already has {d} of these toys at home.|At home {they} already has {d} of these toys.",
        "How many more toys does {name} need?|How many more toys must {name} buy?"), (
        "The friends get [t=a*b] {item}.",
        "They also get [u=a*c] {other}.",
        "That makes [v=t+u] toys.",
        "{name} needs [r=v-d] more toys.")),
    Story("seats", "toys", "a=3-12 b=3-12 c=2-40 d=2-30", (
        "{name} counts the chairs of a hall and finds {a} rows with {b} chairs in each row.|A hall has {a} rows with {b} chairs each, and {name} looks after it.",
        "{c} people sit down, and later {d} more people come and sit down.|First {c} people take a chair, and later {d} more people do.",
        "How many chairs are still free?|How many chairs are free now?"), (
        "The hall has [t=a*b] chairs.|There are [t=a*b] chairs.",
        "Together [u=c+d] people sit down.|That makes [u=c+d] people.",
        "There are still [r=t-u] free chairs.|That leaves [r=t-u] free chairs.")),
    Story("paint", "school", "b=2-12 a=2-8 c=2-30 n=2-10", (
        "{name} paints {b} rooms and needs {a} cans of paint for each room.|For each of {b} rooms {name} needs {a} cans of paint.",
        "{They} has {c} cans at home.|At home {they} finds {c} cans.",
        "The store sells paint in {boxes} of {n} cans.|Paint is sold in {boxes} of {n} cans each.",
        "How many {boxes} must {name} buy?"), (
        "The rooms need [t=b*a] cans.|All rooms together need [t=b*a] cans.",
        "{name} still needs [u=t-c] cans.|With the cans at home, {they} still needs [u=t-c] cans.",
        "That is [r=u/n] {boxes}.|{They} must buy [r=u/n] {boxes}.")),
    Story("pets", "plants", "a=2-8 b=2-6 p=20-100 n=2-10", (
        "The dog of {name} eats {a} cups of food a day and the cat eats {b} cups.|Every day {name} gives {a} cups of food to the dog and {b} cups to the cat.",
        "{name} has a bag with {p} cups of food behind the {item}.|A bag with {p} cups of food stands beside the {item}.",
        "How many cups are left after {n} days?|After {n} days, how many cups are left?"), (
        "Each day the pets eat [t=a+b] cups.|The pets eat [t=a+b] cups a day.",
        "In {n} days they eat [u=t*n] cups.|That makes [u=t*n] cups in {n} days.",
        "There are [r=p-u] cups left.|That leaves [r=p-u] cups.")),
    Story("points", "toys", "a=2-12 b=2-8 c=2-20", (
        "{name} and {friend} play a game with {item}.|{name} plays against {friend} with {item}.",
        "{name} scores {a} points in each of {b} rounds.|In a game {name} scores {a} points in every one of {b} rounds.",
        "{friend} scores {c} points more than {name} in all.|In all {friend} has {c} points more than {name}.",
        "How many points do they have together?|How many points is that for both together?"), (
        "{name} scores [t=b*a] points.|In all {name} has [t=b*a] points.",
        "{friend} scores [u=t+c] points.|{friend} has [u=t+c] points.",
        "Together they have [r=t+u] points.|Both together have [r=t+u] points.")),
    Story("library", "school", "a=2-12 b=3-12 c=2-40 d=2-30 e=2-20", (
        "In the library of {name} there are {a} shelves with {b} books on each shelf.|{name} fills {a} shelves with {b} books each.",
        "On Monday people take {c} books, and on Tuesday they bring {d} books back.|People take {c} books on Monday and bring {d} back on Tuesday.",
        "On Friday {name} buys {e} new books.|Then {e} new books come on Friday.",
        "How many books are in the library now?|How many books are there now?"), (
        "The shelves hold [t=a*b] books.|On the shelves there are [t=a*b] books.",
        "After Monday there are [u=t-c] books.|Monday leaves [u=t-c] books.",
        "After Tuesday there are [v=u+d] books.|Tuesday brings them to [v=u+d] books.",
        "With the new ones there are [r=v+e] books.|The new books make it [r=v+e] books.")),
    Story("water", "plants", "p=2-40 a=2-9 b=2-12 c=2-30 d=2-20", (
        "A tank in the garden of {name} holds {p} liters of water.|{name} has a tank with {p} liters of water in it.",
        "{They} pours in {a} buckets of {b} liters each.|Then {they} adds {a} buckets with {b} liters in each.",
        "{They} uses {c} liters for the {item} and {d} liters for the trees.|The {item} get {c} liters and the trees get {d} liters.",
        "How many liters are left in the tank?"), (
        "The buckets hold [t=a*b] liters.|In the buckets there are [t=a*b] liters.",
        "The tank now has [u=p+t] liters.|That makes [u=p+t] liters.",
        "After the {item} there are [v=u-c] liters.|The {item} leave [v=u-c] liters.",
        "After the trees there are [r=v-d] liters left.|The trees leave [r=v-d] liters.")),
    Story("album", "finds", "a=2-40 m=2-8 b=2-12 n=2-10", (
        "{name} has {a} {item} and buys {m} {boxes} with {b} {item} in each.|{name} owns {a} {item} and gets {m} {boxes} of {b} {item} each.",
        "{They} puts all of them into an album with {n} {item} on each page.|An album gets all of them, {n} {item} on each page.",
        "How many pages does {name} fill?|How many pages are filled?"), (
        "The {boxes} hold [t=m*b] {item}.|There are [t=m*b] {item} in the {boxes}.",
        "In all {name} has [u=a+t] {item}.|That makes [u=a+t] {item}.",
        "They fill [r=u/n] pages.|{name} needs [r=u/n] pages.")),
    Story("market", "fruit", "a=2-12 b=2-6 c=2-12 d=2-6 e=2-30", (
        "On the market {name} sells {a} {boxes} of {item} for {b} dollars each.|{name} sells {a} {boxes} of {item} at {b} dollars each.",
        "{They} also sells {c} {boxes} of {other} for {d} dollars each.|Then {they} sells {c} {boxes} of {other} at {d} dollars each.",
        "The place on the market costs {e} dollars.|{name} pays {e} dollars for the place on the market.",
        "How many dollars does {name} earn?|How many dollars does {name} take home?"), (
        "The {item} bring [t=a*b] dollars.|For the {item} {they} gets [t=a*b] dollars.",
        "The {other} bring [u=c*d] dollars.|For the {other} {they} gets [u=c*d] dollars.",
        "Together that is [v=t+u] dollars.|Both make [v=t+u] dollars.",
        "After paying for the place, {they} has [r=v-e] dollars.|The place leaves [r=v-e] dollars.")),
)

CHAIN_START = "{name} has {start} {item}.|At first {name} has {start} {item} at home."
CHAIN_END = "How many {item} does {name} have now?|How many {item} does {name} have in the end?"
EVENTS = (
    Event("n=2-30", "{They} finds {n} more {item}.|Then {they} gets {n} more {item} from {friend}.",
          ("With {n} more, {name} has [after=before+n] {item}.|Adding {n} makes [after=before+n] {item}.",)),
    Event("n=2-30", "{They} gives {n} {item} to {friend}.|Then {they} loses {n} of the {item}.",
          ("Without those {n}, {they} has [after=before-n] {item}.|Taking {n} away leaves [after=before-n] {item}.",)),
    Event("", "{They} wins a game and doubles {their} {item}.|Soon {they} has twice as many {item} as before.",
          ("Two times as many is [after=2*before] {item}.|Doubling makes it [after=2*before] {item}.",)),
    Event("", "{They} wins a game and triples {their} {item}.|Soon {they} has three times as many {item} as before.",
          ("Three times as many is [after=3*before] {item}.|Tripling makes it [after=3*before] {item}.",)),
    Event("n=2-10", "{They} shares the {item} equally among {n} children and keeps only one share.|"
          "Then {they} makes {n} equal groups of {item} and keeps only one group.",
          ("One share is [after=before/n] {item}.|Each group has [after=before/n] {item}.",)),
    Event("m=2-9 n=2-12", "{They} buys {m} {boxes} with {n} {item} in each {box}.|Then {they} gets {m} {boxes} of {n} {item} each.",
          ("The {boxes} hold [made=m*n] {item}.|In the {boxes} there are [made=m*n] {item}.",
           "Now {they} has [after=before+made] {item}.|That makes [after=before+made] {item}.")),
)

DOUBLE_END = "What is the sum of both answers?|How much are both answers together?"
DOUBLE_SUM = "Both answers together make [r=a+b].|The sum of both answers is [r=a+b]."
