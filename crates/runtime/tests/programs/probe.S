# void probe(void): loads every register from probe_in, calls probe_function, and stores every
# register to probe_out. Before the call, it lowers the stack pointer by probe_shift bytes. probe_in
# and probe_out contain 16 general registers of 8 bytes, 32 vectors of 64 bytes, and 8 masks of 8
# bytes. probe_level selects the vectors: 0 for xmm0-15, 1 for ymm0-15, 2 for zmm0-31 and masks.
    .bss
    .balign 64
    .globl probe_in, probe_out, probe_function, probe_level, probe_shift
probe_in: .skip 2240
    .balign 64
probe_out: .skip 2240
probe_function: .skip 8
probe_level: .skip 8
probe_shift: .skip 8
stack: .skip 8
result: .skip 8

    .text
    .globl probe
    .type probe, @function
probe:
    pushq %rbx
    pushq %rbp
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, stack(%rip)
    subq probe_shift(%rip), %rsp
    leaq probe_in(%rip), %rax
    cmpq $1, probe_level(%rip)
    je 1f
    ja 2f
    .irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    movdqu 128+64*\i(%rax), %xmm\i
    .endr
    jmp 3f
1:  .irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    vmovdqu 128+64*\i(%rax), %ymm\i
    .endr
    jmp 3f
2:  .irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    vmovdqu64 128+64*\i(%rax), %zmm\i
    .endr
    .irp i,0,1,2,3,4,5,6,7
    kmovq 2176+8*\i(%rax), %k\i
    .endr
3:  movq 8(%rax), %rcx
    movq 16(%rax), %rdx
    movq 24(%rax), %rbx
    movq 40(%rax), %rbp
    movq 48(%rax), %rsi
    movq 56(%rax), %rdi
    movq 64(%rax), %r8
    movq 72(%rax), %r9
    movq 80(%rax), %r10
    movq 88(%rax), %r11
    movq 96(%rax), %r12
    movq 104(%rax), %r13
    movq 112(%rax), %r14
    movq 120(%rax), %r15
    movq 0(%rax), %rax
    call *probe_function(%rip)
    movq %rax, result(%rip)
    movq %r11, probe_out+88(%rip)
    leaq probe_out(%rip), %rax
    movq %rcx, 8(%rax)
    movq %rdx, 16(%rax)
    movq %rbx, 24(%rax)
    movq %rbp, 40(%rax)
    movq %rsi, 48(%rax)
    movq %rdi, 56(%rax)
    movq %r8, 64(%rax)
    movq %r9, 72(%rax)
    movq %r10, 80(%rax)
    movq %r12, 96(%rax)
    movq %r13, 104(%rax)
    movq %r14, 112(%rax)
    movq %r15, 120(%rax)
    movq result(%rip), %rcx
    movq %rcx, 0(%rax)
    addq probe_shift(%rip), %rsp
    cmpq $1, probe_level(%rip)
    je 1f
    ja 2f
    .irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    movdqu %xmm\i, 128+64*\i(%rax)
    .endr
    jmp 3f
1:  .irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    vmovdqu %ymm\i, 128+64*\i(%rax)
    .endr
    vzeroupper
    jmp 3f
2:  .irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    vmovdqu64 %zmm\i, 128+64*\i(%rax)
    .endr
    .irp i,0,1,2,3,4,5,6,7
    kmovq %k\i, 2176+8*\i(%rax)
    .endr
    vzeroupper
3:  subq stack(%rip), %rsp      # zero if the call restored the stack pointer
    movq %rsp, 32(%rax)
    movq stack(%rip), %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbp
    popq %rbx
    ret
    .size probe, . - probe
    .section .note.GNU-stack, "", @progbits
