//! The functions of the LLVM C API that this crate uses, as a table of function pointers. The table
//! is filled from a library at run time.
//!
//! The declarations follow LLVM's headers of versions 19 and 22 (`llvm-c/*.h`). Functions that only
//! one of the versions has are in the `optional` part. All functions are unsafe, and only this
//! crate uses them.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::mem::ManuallyDrop;

macro_rules! opaque {
    ($($name:ident)*) => { $(
        #[repr(C)]
        pub(crate) struct $name { _private: [u8; 0] }
    )* };
}

opaque! { LDbgRecord LDebugBuilder LContext LModule LValue LType LBlock LBuilder LMetadata LNamedMetadata LAttribute LComdat LBuffer LError LMachine LTarget LPassOptions LDiagnostic LDataLayout }

pub(crate) type Bool = c_int;
pub(crate) type DiagnosticHandler = extern "C" fn(*mut LDiagnostic, *mut c_void);

macro_rules! api {
    (
        required { $( fn $name:ident($($arg:ty),*) $(-> $ret:ty)?; )* }
        optional { $( fn $oname:ident($($oarg:ty),*) $(-> $oret:ty)?; )* }
    ) => {
        /// The loaded functions. The library stays loaded until the process ends, because LLVM
        /// registers destructors.
        #[allow(non_snake_case, reason = "the names are LLVM's")]
        pub(crate) struct Api {
            $( pub(crate) $name: unsafe extern "C" fn($($arg),*) $(-> $ret)?, )*
            $( pub(crate) $oname: Option<unsafe extern "C" fn($($oarg),*) $(-> $oret)?>, )*
            pub(crate) library: ManuallyDrop<libloading::Library>,
        }

        impl Api {
            /// Looks up every function. The error is the name of a required function that the
            /// library lacks.
            pub(crate) fn load(library: libloading::Library) -> Result<Self, &'static str> {
                Ok(Self {
                    $( $name: symbol(&library, stringify!($name)).ok_or(stringify!($name))?, )*
                    $( $oname: symbol(&library, stringify!($oname)), )*
                    library: ManuallyDrop::new(library),
                })
            }
        }
    };
}

/// Returns the address of a symbol, as a function of type `F`.
fn symbol<F: Copy>(library: &libloading::Library, name: &str) -> Option<F> {
    // SAFETY: `F` is the type of this function in LLVM's headers; the pointer stays valid, because
    // the library stays loaded.
    unsafe { library.get::<F>(name).ok().map(|symbol| *symbol) }
}

api! {
    required {
        fn LLVMDisposeMessage(*mut c_char);
        fn LLVMParseCommandLineOptions(c_int, *const *const c_char, *const c_char);

        fn LLVMContextCreate() -> *mut LContext;
        fn LLVMContextDispose(*mut LContext);
        fn LLVMContextSetDiagnosticHandler(*mut LContext, Option<DiagnosticHandler>, *mut c_void);
        fn LLVMGetDiagInfoDescription(*mut LDiagnostic) -> *mut c_char;
        fn LLVMGetDiagInfoSeverity(*mut LDiagnostic) -> c_int;
        fn LLVMGetMDKindIDInContext(*mut LContext, *const c_char, c_uint) -> c_uint;
        fn LLVMGetEnumAttributeKindForName(*const c_char, usize) -> c_uint;
        fn LLVMCreateEnumAttribute(*mut LContext, c_uint, u64) -> *mut LAttribute;
        fn LLVMCreateStringAttribute(*mut LContext, *const c_char, c_uint, *const c_char, c_uint) -> *mut LAttribute;
        fn LLVMCreateTypeAttribute(*mut LContext, c_uint, *mut LType) -> *mut LAttribute;

        fn LLVMCreateMemoryBufferWithMemoryRange(*const c_char, usize, *const c_char, Bool) -> *mut LBuffer;
        fn LLVMDisposeMemoryBuffer(*mut LBuffer);
        fn LLVMGetBufferStart(*mut LBuffer) -> *const c_char;
        fn LLVMGetBufferSize(*mut LBuffer) -> usize;
        fn LLVMParseBitcodeInContext2(*mut LContext, *mut LBuffer, *mut *mut LModule) -> Bool;
        fn LLVMWriteBitcodeToMemoryBuffer(*mut LModule) -> *mut LBuffer;

        fn LLVMDisposeModule(*mut LModule);
        fn LLVMGetTarget(*mut LModule) -> *const c_char;
        fn LLVMGetModuleInlineAsm(*mut LModule, *mut usize) -> *const c_char;
        fn LLVMGetSourceFileName(*mut LModule, *mut usize) -> *const c_char;
        fn LLVMGetModuleFlag(*mut LModule, *const c_char, usize) -> *mut LMetadata;
        fn LLVMGetNamedMetadataNumOperands(*mut LModule, *const c_char) -> c_uint;
        fn LLVMGetNamedMetadataOperands(*mut LModule, *const c_char, *mut *mut LValue);
        fn LLVMAddModuleFlag(*mut LModule, c_int, *const c_char, usize, *mut LMetadata);
        fn LLVMGetOrInsertNamedMetadata(*mut LModule, *const c_char, usize) -> *mut LNamedMetadata;
        fn LLVMPrintModuleToString(*mut LModule) -> *mut c_char;
        fn LLVMVerifyModule(*mut LModule, c_int, *mut *mut c_char) -> Bool;
        fn LLVMGetFirstFunction(*mut LModule) -> *mut LValue;
        fn LLVMGetNextFunction(*mut LValue) -> *mut LValue;
        fn LLVMGetNamedFunction(*mut LModule, *const c_char) -> *mut LValue;
        fn LLVMAddFunction(*mut LModule, *const c_char, *mut LType) -> *mut LValue;
        fn LLVMGetNamedGlobal(*mut LModule, *const c_char) -> *mut LValue;
        fn LLVMAddGlobal(*mut LModule, *mut LType, *const c_char) -> *mut LValue;
        fn LLVMDeleteGlobal(*mut LValue);
        fn LLVMGetNamedGlobalAlias(*mut LModule, *const c_char, usize) -> *mut LValue;
        fn LLVMAliasGetAliasee(*mut LValue) -> *mut LValue;
        fn LLVMGetFirstGlobalIFunc(*mut LModule) -> *mut LValue;
        fn LLVMGetNextGlobalIFunc(*mut LValue) -> *mut LValue;
        fn LLVMGetGlobalIFuncResolver(*mut LValue) -> *mut LValue;

        fn LLVMSetValueName2(*mut LValue, *const c_char, usize);
        fn LLVMGetValueName2(*mut LValue, *mut usize) -> *const c_char;
        fn LLVMTypeOf(*mut LValue) -> *mut LType;
        fn LLVMIsAFunction(*mut LValue) -> *mut LValue;
        fn LLVMIsAInstruction(*mut LValue) -> *mut LValue;
        fn LLVMIsAUser(*mut LValue) -> *mut LValue;
        fn LLVMIsAGlobalObject(*mut LValue) -> *mut LValue;
        fn LLVMIsAConstantInt(*mut LValue) -> *mut LValue;
        fn LLVMIsConstant(*mut LValue) -> Bool;
        fn LLVMIsNull(*mut LValue) -> Bool;
        fn LLVMIsAInlineAsm(*mut LValue) -> *mut LValue;
        fn LLVMGetInlineAsmAsmString(*mut LValue, *mut usize) -> *const c_char;
        fn LLVMGetNumOperands(*mut LValue) -> c_int;
        fn LLVMGetOperand(*mut LValue, c_uint) -> *mut LValue;
        fn LLVMSetOperand(*mut LValue, c_uint, *mut LValue);
        fn LLVMGetFirstUse(*mut LValue) -> *mut LUse;
        fn LLVMGetNextUse(*mut LUse) -> *mut LUse;
        fn LLVMGetUser(*mut LUse) -> *mut LValue;
        fn LLVMReplaceAllUsesWith(*mut LValue, *mut LValue);

        fn LLVMIsDeclaration(*mut LValue) -> Bool;
        fn LLVMGlobalGetValueType(*mut LValue) -> *mut LType;
        fn LLVMGetLinkage(*mut LValue) -> c_int;
        fn LLVMSetLinkage(*mut LValue, c_int);
        fn LLVMGetSection(*mut LValue) -> *const c_char;
        fn LLVMSetSection(*mut LValue, *const c_char);
        fn LLVMSetVisibility(*mut LValue, c_int);
        fn LLVMSetAlignment(*mut LValue, c_uint);
        fn LLVMGetAlignment(*mut LValue) -> c_uint;
        fn LLVMSetThreadLocalMode(*mut LValue, c_int);
        fn LLVMSetGlobalConstant(*mut LValue, Bool);
        fn LLVMGetInitializer(*mut LValue) -> *mut LValue;
        fn LLVMSetInitializer(*mut LValue, *mut LValue);
        fn LLVMGlobalSetMetadata(*mut LValue, c_uint, *mut LMetadata);
        fn LLVMGetComdat(*mut LValue) -> *mut LComdat;
        fn LLVMSetComdat(*mut LValue, *mut LComdat);
        fn LLVMGetOrInsertComdat(*mut LModule, *const c_char) -> *mut LComdat;
        fn LLVMSetComdatSelectionKind(*mut LComdat, c_int);

        fn LLVMGetFunctionCallConv(*mut LValue) -> c_uint;
        fn LLVMSetFunctionCallConv(*mut LValue, c_uint);
        fn LLVMGetGC(*mut LValue) -> *const c_char;
        fn LLVMGetEnumAttributeAtIndex(*mut LValue, c_uint, c_uint) -> *mut LAttribute;
        fn LLVMGetStringAttributeAtIndex(*mut LValue, c_uint, *const c_char, c_uint) -> *mut LAttribute;
        fn LLVMGetStringAttributeValue(*mut LAttribute, *mut c_uint) -> *const c_char;
        fn LLVMAddAttributeAtIndex(*mut LValue, c_uint, *mut LAttribute);
        fn LLVMRemoveEnumAttributeAtIndex(*mut LValue, c_uint, c_uint);
        fn LLVMRemoveStringAttributeAtIndex(*mut LValue, c_uint, *const c_char, c_uint);
        fn LLVMGetCallSiteEnumAttribute(*mut LValue, c_uint, c_uint) -> *mut LAttribute;
        fn LLVMAddCallSiteAttribute(*mut LValue, c_uint, *mut LAttribute);
        fn LLVMGetFirstBasicBlock(*mut LValue) -> *mut LBlock;
        fn LLVMGetNextBasicBlock(*mut LBlock) -> *mut LBlock;
        fn LLVMGetEntryBasicBlock(*mut LValue) -> *mut LBlock;
        fn LLVMAppendBasicBlockInContext(*mut LContext, *mut LValue, *const c_char) -> *mut LBlock;
        fn LLVMInsertBasicBlockInContext(*mut LContext, *mut LBlock, *const c_char) -> *mut LBlock;
        fn LLVMDeleteBasicBlock(*mut LBlock);
        fn LLVMGetBasicBlockTerminator(*mut LBlock) -> *mut LValue;
        fn LLVMGetFirstInstruction(*mut LBlock) -> *mut LValue;
        fn LLVMGetNextInstruction(*mut LValue) -> *mut LValue;
        fn LLVMGetPreviousInstruction(*mut LValue) -> *mut LValue;
        fn LLVMGetBasicBlockParent(*mut LBlock) -> *mut LValue;
        fn LLVMBlockAddress(*mut LValue, *mut LBlock) -> *mut LValue;
        fn LLVMBasicBlockAsValue(*mut LBlock) -> *mut LValue;

        fn LLVMGetInstructionOpcode(*mut LValue) -> c_int;
        fn LLVMGetInstructionParent(*mut LValue) -> *mut LBlock;
        fn LLVMGetNumSuccessors(*mut LValue) -> c_uint;
        fn LLVMGetSuccessor(*mut LValue, c_uint) -> *mut LBlock;
        fn LLVMSetSuccessor(*mut LValue, c_uint, *mut LBlock);
        fn LLVMGetCalledValue(*mut LValue) -> *mut LValue;
        fn LLVMGetTailCallKind(*mut LValue) -> c_int;
        fn LLVMGetMetadata(*mut LValue, c_uint) -> *mut LValue;
        fn LLVMSetMetadata(*mut LValue, c_uint, *mut LValue);
        fn LLVMCloneModule(*mut LModule) -> *mut LModule;
        fn LLVMInstructionClone(*mut LValue) -> *mut LValue;
        fn LLVMInstructionRemoveFromParent(*mut LValue);
        fn LLVMInstructionEraseFromParent(*mut LValue);
        fn LLVMCountIncoming(*mut LValue) -> c_uint;
        fn LLVMGetIncomingValue(*mut LValue, c_uint) -> *mut LValue;
        fn LLVMGetIncomingBlock(*mut LValue, c_uint) -> *mut LBlock;
        fn LLVMAddIncoming(*mut LValue, *mut *mut LValue, *mut *mut LBlock, c_uint);
        fn LLVMGetNSW(*mut LValue) -> Bool;
        fn LLVMGetNUW(*mut LValue) -> Bool;
        fn LLVMCanValueUseFastMathFlags(*mut LValue) -> Bool;
        fn LLVMGetFastMathFlags(*mut LValue) -> c_uint;
        fn LLVMSetFastMathFlags(*mut LValue, c_uint);

        fn LLVMGetModuleDataLayout(*mut LModule) -> *mut LDataLayout;
        fn LLVMABISizeOfType(*mut LDataLayout, *mut LType) -> u64;
        fn LLVMOffsetOfElement(*mut LDataLayout, *mut LType, c_uint) -> u64;
        fn LLVMStructGetTypeAtIndex(*mut LType, c_uint) -> *mut LType;
        fn LLVMGetElementType(*mut LType) -> *mut LType;
        fn LLVMGetGEPSourceElementType(*mut LValue) -> *mut LType;
        fn LLVMGetTypeKind(*mut LType) -> c_int;
        fn LLVMGetIntTypeWidth(*mut LType) -> c_uint;
        fn LLVMInt1TypeInContext(*mut LContext) -> *mut LType;
        fn LLVMInt8TypeInContext(*mut LContext) -> *mut LType;
        fn LLVMInt32TypeInContext(*mut LContext) -> *mut LType;
        fn LLVMInt64TypeInContext(*mut LContext) -> *mut LType;
        fn LLVMVoidTypeInContext(*mut LContext) -> *mut LType;
        fn LLVMPointerTypeInContext(*mut LContext, c_uint) -> *mut LType;
        fn LLVMFunctionType(*mut LType, *mut *mut LType, c_uint, Bool) -> *mut LType;
        fn LLVMConstInt(*mut LType, u64, Bool) -> *mut LValue;
        fn LLVMGetPoison(*mut LType) -> *mut LValue;
        fn LLVMConstNull(*mut LType) -> *mut LValue;
        fn LLVMConstIntGetSExtValue(*mut LValue) -> i64;
        fn LLVMConstPtrToInt(*mut LValue, *mut LType) -> *mut LValue;
        fn LLVMGetInlineAsm(*mut LType, *const c_char, usize, *const c_char, usize, Bool, Bool, c_int, Bool) -> *mut LValue;

        fn LLVMCreateBuilderInContext(*mut LContext) -> *mut LBuilder;
        fn LLVMDisposeBuilder(*mut LBuilder);
        fn LLVMPositionBuilderBefore(*mut LBuilder, *mut LValue);
        fn LLVMPositionBuilderBeforeInstrAndDbgRecords(*mut LBuilder, *mut LValue);
        fn LLVMPositionBuilderAtEnd(*mut LBuilder, *mut LBlock);
        fn LLVMInsertIntoBuilder(*mut LBuilder, *mut LValue);
        fn LLVMBuildAlloca(*mut LBuilder, *mut LType, *const c_char) -> *mut LValue;
        fn LLVMBuildLoad2(*mut LBuilder, *mut LType, *mut LValue, *const c_char) -> *mut LValue;
        fn LLVMSetVolatile(*mut LValue, Bool);
        fn LLVMGetVolatile(*mut LValue) -> Bool;
        fn LLVMGetOrdering(*mut LValue) -> c_int;
        fn LLVMGetICmpPredicate(*mut LValue) -> c_int;
        fn LLVMBuildStore(*mut LBuilder, *mut LValue, *mut LValue) -> *mut LValue;
        fn LLVMBuildAdd(*mut LBuilder, *mut LValue, *mut LValue, *const c_char) -> *mut LValue;
        fn LLVMBuildPtrToInt(*mut LBuilder, *mut LValue, *mut LType, *const c_char) -> *mut LValue;
        fn LLVMBuildSub(*mut LBuilder, *mut LValue, *mut LValue, *const c_char) -> *mut LValue;
        fn LLVMBuildMul(*mut LBuilder, *mut LValue, *mut LValue, *const c_char) -> *mut LValue;
        fn LLVMBuildAnd(*mut LBuilder, *mut LValue, *mut LValue, *const c_char) -> *mut LValue;
        fn LLVMBuildICmp(*mut LBuilder, c_int, *mut LValue, *mut LValue, *const c_char) -> *mut LValue;
        fn LLVMBuildFreeze(*mut LBuilder, *mut LValue, *const c_char) -> *mut LValue;
        fn LLVMBuildSelect(*mut LBuilder, *mut LValue, *mut LValue, *mut LValue, *const c_char) -> *mut LValue;
        fn LLVMBuildGEP2(*mut LBuilder, *mut LType, *mut LValue, *mut *mut LValue, c_uint, *const c_char) -> *mut LValue;
        fn LLVMBuildCall2(*mut LBuilder, *mut LType, *mut LValue, *mut *mut LValue, c_uint, *const c_char) -> *mut LValue;
        fn LLVMBuildPhi(*mut LBuilder, *mut LType, *const c_char) -> *mut LValue;
        fn LLVMBuildBr(*mut LBuilder, *mut LBlock) -> *mut LValue;
        fn LLVMBuildCondBr(*mut LBuilder, *mut LValue, *mut LBlock, *mut LBlock) -> *mut LValue;
        fn LLVMBuildRet(*mut LBuilder, *mut LValue) -> *mut LValue;
        fn LLVMBuildRetVoid(*mut LBuilder) -> *mut LValue;
        fn LLVMSetInstructionCallConv(*mut LValue, c_uint);

        fn LLVMStripModuleDebugInfo(*mut LModule) -> Bool;
        fn LLVMCreateDIBuilder(*mut LModule) -> *mut LDebugBuilder;
        fn LLVMDisposeDIBuilder(*mut LDebugBuilder);
        fn LLVMDIBuilderFinalize(*mut LDebugBuilder);
        fn LLVMDIBuilderCreateFile(*mut LDebugBuilder, *const c_char, usize, *const c_char, usize) -> *mut LMetadata;
        fn LLVMDIBuilderCreateCompileUnit(*mut LDebugBuilder, c_int, *mut LMetadata, *const c_char, usize, Bool, *const c_char, usize, c_uint, *const c_char, usize, c_int, c_uint, Bool, Bool, *const c_char, usize, *const c_char, usize) -> *mut LMetadata;
        fn LLVMDIBuilderCreateSubroutineType(*mut LDebugBuilder, *mut LMetadata, *mut *mut LMetadata, c_uint, c_int) -> *mut LMetadata;
        fn LLVMDIBuilderCreateFunction(*mut LDebugBuilder, *mut LMetadata, *const c_char, usize, *const c_char, usize, *mut LMetadata, c_uint, *mut LMetadata, Bool, Bool, c_uint, c_int, Bool) -> *mut LMetadata;
        fn LLVMDIBuilderCreateDebugLocation(*mut LContext, c_uint, c_uint, *mut LMetadata, *mut LMetadata) -> *mut LMetadata;
        fn LLVMSetSubprogram(*mut LValue, *mut LMetadata);
        fn LLVMGetSubprogram(*mut LValue) -> *mut LMetadata;
        fn LLVMInstructionGetDebugLoc(*mut LValue) -> *mut LMetadata;
        fn LLVMInstructionSetDebugLoc(*mut LValue, *mut LMetadata);
        fn LLVMDILocationGetLine(*mut LMetadata) -> c_uint;
        fn LLVMDILocationGetColumn(*mut LMetadata) -> c_uint;
        fn LLVMDILocationGetScope(*mut LMetadata) -> *mut LMetadata;
        fn LLVMDILocationGetInlinedAt(*mut LMetadata) -> *mut LMetadata;
        fn LLVMDISubprogramGetLine(*mut LMetadata) -> c_uint;
        fn LLVMDIScopeGetFile(*mut LMetadata) -> *mut LMetadata;
        fn LLVMDIFileGetDirectory(*mut LMetadata, *mut c_uint) -> *const c_char;
        fn LLVMDIFileGetFilename(*mut LMetadata, *mut c_uint) -> *const c_char;
        fn LLVMGetMetadataKind(*mut LMetadata) -> c_uint;
        fn LLVMGetDINodeTag(*mut LMetadata) -> u16;
        fn LLVMDITypeGetSizeInBits(*mut LMetadata) -> u64;
        fn LLVMDITypeGetOffsetInBits(*mut LMetadata) -> u64;
        fn LLVMDITypeGetFlags(*mut LMetadata) -> c_int;
        fn LLVMPrintValueToString(*mut LValue) -> *mut c_char;
        fn LLVMMetadataAsValue(*mut LContext, *mut LMetadata) -> *mut LValue;
        fn LLVMValueAsMetadata(*mut LValue) -> *mut LMetadata;
        fn LLVMMDStringInContext2(*mut LContext, *const c_char, usize) -> *mut LMetadata;
        fn LLVMMDNodeInContext2(*mut LContext, *mut *mut LMetadata, usize) -> *mut LMetadata;
        fn LLVMGetMDString(*mut LValue, *mut c_uint) -> *const c_char;
        fn LLVMGetMDNodeNumOperands(*mut LValue) -> c_uint;
        fn LLVMGetMDNodeOperands(*mut LValue, *mut *mut LValue);

        fn LLVMCreatePassBuilderOptions() -> *mut LPassOptions;
        fn LLVMDisposePassBuilderOptions(*mut LPassOptions);
        fn LLVMPassBuilderOptionsSetLoopInterleaving(*mut LPassOptions, Bool);
        fn LLVMPassBuilderOptionsSetLoopVectorization(*mut LPassOptions, Bool);
        fn LLVMPassBuilderOptionsSetSLPVectorization(*mut LPassOptions, Bool);
        fn LLVMPassBuilderOptionsSetLoopUnrolling(*mut LPassOptions, Bool);
        fn LLVMPassBuilderOptionsSetMergeFunctions(*mut LPassOptions, Bool);
        fn LLVMRunPasses(*mut LModule, *const c_char, *mut LMachine, *mut LPassOptions) -> *mut LError;
        fn LLVMGetErrorMessage(*mut LError) -> *mut c_char;
        fn LLVMDisposeErrorMessage(*mut c_char);

        fn LLVMGetTargetFromTriple(*const c_char, *mut *mut LTarget, *mut *mut c_char) -> Bool;
        fn LLVMCreateTargetMachine(*mut LTarget, *const c_char, *const c_char, *const c_char, c_int, c_int, c_int) -> *mut LMachine;
        fn LLVMDisposeTargetMachine(*mut LMachine);
        fn LLVMTargetMachineEmitToMemoryBuffer(*mut LMachine, *mut LModule, c_int, *mut *mut c_char, *mut *mut LBuffer) -> Bool;
    }
    optional {
        // Since LLVM 20. In older versions, case values are operands of the switch.
        fn LLVMGetSwitchCaseValue(*mut LValue, c_uint) -> *mut LValue;
        // Since LLVM 22. In older versions, the C API cannot read debug records.
        fn LLVMGetFirstDbgRecord(*mut LValue) -> *mut LDbgRecord;
        fn LLVMGetNextDbgRecord(*mut LDbgRecord) -> *mut LDbgRecord;
        fn LLVMDbgRecordGetKind(*mut LDbgRecord) -> c_int;
        fn LLVMDbgVariableRecordGetValue(*mut LDbgRecord, c_uint) -> *mut LValue;
        fn LLVMDbgVariableRecordGetVariable(*mut LDbgRecord) -> *mut LMetadata;
        fn LLVMDbgVariableRecordGetExpression(*mut LDbgRecord) -> *mut LMetadata;
    }
}

opaque! { LUse }
