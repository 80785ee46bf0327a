// The page: read the document, fill each place of the template.

import { chart } from "./chart";
import { read } from "./document";
import { byId } from "./dom";
import { looks } from "./looks";
import { ceilings, findings, first, recording, step, sums } from "./sections";
import { table, type Table } from "./table";

const placement = read();
const lookOf = looks(placement.roof.filter((ceiling) => ceiling.unit === "flop").map((ceiling) => ceiling.resource));
let items: Table;
const picture = chart(placement, lookOf, (index) => items.reveal(index));
items = table(placement.items, placement.by ?? "call", (index) => picture.emphasise(index));
byId("sums").replaceChildren(...sums(placement.program));
byId("step").replaceChildren(...step(placement.program));
byId("first").replaceChildren(...first(placement.findings, placement.program));
byId("findings").replaceChildren(...findings(placement.findings));
byId("ceilings").replaceChildren(...ceilings(placement.roof));
byId("recording").replaceChildren(...recording(placement));
