// The part of the document with the phases, as crates/report/src/html/phases.rs writes it.

import type { Wire } from "./numbers";

/** The phases of the run and of its baseline. */
export interface ComparedPhasesWire {
  now: PhasesWire;
  before: PhasesWire | null;
}

export interface PhasesWire {
  title: string;
  branches: Wire;
  instructions: Wire;
  window: Wire;
  windows: Wire;
  silhouette: number;
  phases: PhaseWire[];
  segments: [string, Wire, Wire][];
  hot_spots: HotSpotWire[];
  hot_spots_left_out: number;
  detectors: DetectorWire[];
}

export interface PhaseWire {
  phase: string;
  branches: Wire;
  instructions: Wire;
  functions: PhaseFunctionWire[];
  functions_left_out: number;
  left_out_instructions: Wire;
}

export interface PhaseFunctionWire {
  name: string;
  function: number;
  path: number;
  amount: Wire;
  lines: string[];
}

export interface HotSpotWire {
  detected_at: Wire;
  size: number;
  instructions: Wire;
  branches: number;
  functions: PhaseFunctionWire[];
}

export interface DetectorWire {
  name: string;
  signals: number;
  found: number;
  missed: number;
  false_alarms: number;
  median_latency: Wire | null;
}
